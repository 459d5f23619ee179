"""Parameter counts of the layers that diffusion models are built from."""

from __future__ import annotations


def linear(inputs: int, outputs: int, *, bias: bool = True) -> int:
    """A fully connected layer."""
    return inputs * outputs + (outputs if bias else 0)


def conv(inputs: int, outputs: int, kernel: int = 3) -> int:
    """A square convolution with bias."""
    return inputs * outputs * kernel * kernel + outputs


def norm(width: int) -> int:
    """A layer or group norm with scale and shift."""
    return 2 * width


def perceptron(inputs: int, hidden: int, outputs: int) -> int:
    """Two linear layers: embeddings of time steps, pooled text and guidance."""
    return linear(inputs, hidden) + linear(hidden, outputs)


def attention(width: int, context: int | None = None, *, bias: bool = True) -> int:
    """Queries, keys, values (of *context* where that is another sequence) and the output, which has a bias."""
    keys = width if context is None else context
    return linear(width, width, bias=bias) + 2 * linear(keys, width, bias=bias) + linear(width, width)
