// Asks a running server everything with the generated types: it must compile under --strict and be answered.
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

declare const process: { argv: string[]; exitCode?: number };

type Answer = components["schemas"]["Estimate"] | components["schemas"]["TrainingAnswer"]
  | components["schemas"]["DiffusionAnswer"] | components["schemas"]["EncodeAnswer"];

// Qwen/Qwen2.5-0.5B-Instruct
const CONFIG = {
  architectures: ["Qwen2ForCausalLM"], model_type: "qwen2", torch_dtype: "bfloat16", tie_word_embeddings: true,
  hidden_size: 896, intermediate_size: 4864, num_hidden_layers: 24, num_attention_heads: 14, num_key_value_heads: 2,
  max_position_embeddings: 32768, vocab_size: 151936,
};

const api = createClient<paths>({ baseUrl: process.argv[2] ?? "" });

function check(holds: boolean, what: string): void {
  if (!holds) throw new Error(`not as it should be: ${what}`);
}

function got<T>(result: { data?: T; response: Response }): T {
  if (result.data === undefined) throw new Error(`${result.response.url} answered ${result.response.status}`);
  return result.data;
}

/** The peak of the first placement; compiles only if `kind` tells the four answers apart, and no fifth can come. */
function firstPeakBytes(answer: Answer): number {
  switch (answer.kind) {
    case "inference": return answer.placements[0]!.per_gpu.total.expected_bytes;
    case "training": return answer.placements[0]!.peaks.process.expected_bytes;
    case "diffusion": return answer.placements[0]!.per_gpu.total.expected_bytes;
    case "encode": return answer.placements[0]!.per_gpu.total.expected_bytes;
    default: { const none: never = answer; return none; }
  }
}

async function estimates(): Promise<void> {
  const workloads: components["schemas"]["EstimateRequest"][] = [
    { model: "meta-llama/Llama-3.1-8B-Instruct", cards: ["rtx-4090", { card: "h100-sxm-80", count: 2 }],
      workload: { kind: "inference", engine: { kind: "vllm" }, context_tokens: 8192, concurrency: 16 } },
    { model: "llama 3.1 8b", workload: { kind: "training", method: "lora" } },
    { model: { kind: "config", config: CONFIG, safetensors: { BF16: 494_032_768 } }, workload: { kind: "inference" } },
    { model: "sdxl", workload: { kind: "diffusion" } },
    { model: "openai/whisper-large-v3", workload: { kind: "encode", task: "speech" } },
  ];
  for (const body of workloads) {
    const answer = got(await api.POST("/estimate-vram", { body }));
    check(answer.kind === body.workload?.kind, `kind ${answer.kind}`);
    check(firstPeakBytes(answer) > 9e8, "about a gigabyte or more");
    if (answer.kind === "inference" && body.workload?.kind === "inference" && body.workload.engine) {
      const reserves = answer.placements[0]!.engine_reserves;
      check(reserves?.engine === "vllm" && reserves.kv_cache_tokens > 0, "what vLLM's log will say");
    }
  }
}

async function questions(): Promise<void> {
  const found = got(await api.POST("/recommend", { body: {
    model: "llama 3.1 8b", load: { prompt_tokens: 1000, output_tokens: 300, requests_per_second: 5 } } }));
  const best = found.options[0]!;
  check(best.rank === 1, "the best option first");
  if (best.cost_request === null) throw new Error("no bill to ask for");
  const again = got(await api.POST("/cost", { body: best.cost_request }));
  check(again.options[0]!.usd_per_month === best.usd_per_month, "the bill of an option, posted as it came");
  const bill = got(await api.POST("/cost", { body: {
    options: [
      { label: "own", price: { kind: "caller", usd_per_hour: 1 }, throughput: { kind: "measured", units_per_second: 1000 } },
      { label: "api", price: { kind: "token_api", usd_per_million_input: 0.2, usd_per_million_output: 0.6 } },
    ],
    work: { kind: "job", unit: "token", units: 1e9, prompt_tokens: 1000, output_tokens: 300 } } }));
  check(bill.rank_by_cost.length === 2 && bill.options[0]!.total.expected_usd > 0, "two options with totals");
}

async function catalogue(): Promise<void> {
  const query = { limit: 2 };
  const [card] = got(await api.GET("/cards", { params: { query: { ...query, card: ["rtx-4090"] } } })).cards;
  check(card?.id === "rtx-4090", "the card that was asked for");
  const shown = got(await api.GET("/cards/{id}", { params: { path: { id: "rtx-4090" } } }));
  check(shown.card.memory_gb === 24, "24 GB");
  const [model] = got(await api.GET("/models", { params: { query: { ...query, query: "llama 3.1 8b" } } })).models;
  check(model !== undefined, "a model");
  const id = "meta-llama/Llama-3.1-8B-Instruct";
  const found = got(await api.GET("/models/{id}", { params: { path: { id } } }));
  check(found.id === id, "an id with a slash");
  const offers = got(await api.GET("/offers", { params: { query: { ...query, card: ["rtx-4090"], order: "price" } } }));
  check(offers.offers.length === 2 && offers.total > 2, "a page of offers");
  check(got(await api.GET("/providers", { params: { query } })).providers.length === 2, "a page of providers");
  check(got(await api.GET("/catalogue", {})).version.length > 8, "a version");
}

async function refusals(): Promise<void> {
  const { error, response } = await api.POST("/estimate-vram", { body: { model: "no such model anywhere" } });
  check(response.status === 422 && error !== undefined, "422");
  check(error!.errors?.[0]?.pointer === "/model", "a pointer to the model");
}

for (const part of [estimates, questions, catalogue, refusals]) await part();
