"""Options of the ik_llama.cpp fork beside those of llama.cpp (common/common.cpp, August 2026)."""

from __future__ import annotations

_TEXT = """
    --adaptive-updt-w-cur --all-logits --allowlist-keyword --allowlist-keyword-delay --allowlist-pieces
    --allowlist-unicode-rule --attention --attention-max-batch --audio --banned-n --banned-string-file --binary-file
    --cache-ram-n-min --cache-ram-similarity --cache-type-k-first --cache-type-k-last --cache-type-v-first
    --cache-type-v-last --cfg-negative-prompt --cfg-negative-prompt-file --cfg-scale --chunk --chunk-separator
    --chunk-size --context-file --ctx-checkpoints-eviction --ctx-checkpoints-interval --ctx-checkpoints-tolerance
    --ctx-size-draft --cuda-params --defer-experts --draft-output --draft-output-file --draft-params --dry-run --dsa
    --dsa-top-k --dump-kv-cache --embd-output-format --embd-separator --expiring-logit-bias-file --fit-margin
    --from-chunk --fused-delta-net --fused-indexer-topk --fused-moe --gpu-fit-margin --graph-attn-precision
    --graph-reduce-type --graph-reuse --grouped-expert-routing --hellaswag --hellaswag-tasks --image --in-file
    --in-prefix-bos --indexer-cache-type-k --infill --interactive-first --junk --k-cache-hadamard --kl-divergence
    --kl-divergence-base --log-format --logdir --max-extra-alloc --max-gpu --merge-qkv --merge-up-gate-experts
    --method --minilog --mla-use --mtmd-kq-type --mtp-requantize-output-tensor --multi-token-prediction
    --multiline-input --multiple-choice --multiple-choice-tasks --n-repetitions --negative-file --no-flash-attn
    --no-fused-moe --no-fused-mul-multiadd --no-fused-up-gate --no-graph-reuse --no-multi-token-prediction
    --no-offload-only-active-experts --no-ppl --offload-policy --output --output-draft --output-file --output-format
    --output-frequency --output-tensor-name --p-split --parallel-tool-calls --pca-batch --pca-iter --peg
    --penalize-nl --perplexity --pos --positive-file --ppl-output-type --prefetch-experts --prefetch-experts-threads
    --print-token-count --process-output --prompt-cache-ro --reasoning-tokens --recurrent-ckpt-mode --rope-cache
    --run-time-repack --save-all-logits --save-frequency --scheduler-async --send-done --sequences
    --smart-expert-reduction --spec-autotune --spec-ckpt-mode --spec-replace --spec-stage --split-mode-f16
    --split-mode-f32 --split-mode-graph-scheduling --sql-save-file --sqlite-zstd-ext-file --suffix-corpus
    --suffix-max-depth --suffix-pattern-len --swa-compress --sweep-memory --sweep-stride --system-prompt-file --tfs
    --threads-mtmd --transparent-huge-pages --v-cache-hadamard --validate-quants --verbose-prompt --warmup-batch
    --winogrande --winogrande-tasks --worst-graph-tokens -amb -bf -cd -cram-n-min -crs -ctk-first -ctk-last
    -ctv-first -ctv-last -ctx-ckpt -ctx-ckpt-e -ctx-ckpt-i -ctx-ckpt-t -cuda -dkvc -draft -dsa -dsatk -fdn -fidx
    -fmoe -gap -ger -gfm -gr -grt -ictk -khad -ld -mea -mla -mli -mmp -mqkv -mtp -mtprot -muge -no-fa -no-fmoe
    -no-fug -no-gr -no-mmad -no-mtp -no-ooae -npl -npp -nrep -ns -ntg -o -ofreq -okv -op -pps -ps -ptc -ptcall
    -rcache -rtr -sas -ser -smf16 -smf32 -smgs -spf -thp -tm -vhad -vq -wb -wgt
"""
NAMES = frozenset(_TEXT.split())
