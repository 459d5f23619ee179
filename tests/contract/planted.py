"""Faults that contract tests must notice, each a change of one place of the service.

The list is that of an experiment in which checks made from the document alone (schemathesis) caught six of eleven; the
others are why there are tests by hand beside them.
"""

from __future__ import annotations

import msgspec


class Fault(msgspec.Struct, frozen=True):
    """What to exchange in which file below service/cardmatch, and the tests that see the request which shows it."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


DECODING, DOOR = "tests/http/test_decode.py", "tests/http/test_door.py"
DOCUMENT, EXAMPLES = "tests/contract/test_committed_document.py", "tests/contract/test_examples.py"
ENCODED = "            body = _encode(answer)\n"
FIGURE = "import re; body = re.sub(rb'\"weights_bytes\":\\d+', b'\"weights_bytes\":{}', _encode(answer))"

FAULTS = (
    Fault(
        "a negative figure in an answer", "http/post.py", ENCODED, f"            {FIGURE.format('-1')}\n", (EXAMPLES,)
    ),
    Fault("NaN in an answer", "http/post.py", ENCODED, f"            {FIGURE.format('null')}\n", (EXAMPLES,)),
    Fault("2.0 is no integer", "http/decode.py", 'if "got `float`" in str(error):', "if not str(error):", (DECODING,)),
    Fault(
        "problems under another media type",
        "http/problems.py",
        'MEDIA_TYPE = b"application/problem+json"',
        'MEDIA_TYPE = b"application/json"',
        (DOOR,),
    ),
    Fault(
        "a status that is not documented",
        "http/problems.py",
        "    ProblemType.INVALID_REQUEST: 422,",
        "    ProblemType.INVALID_REQUEST: 409,",
        (DECODING,),
    ),
    Fault(
        "a crash on one member of a union",
        "http/decode.py",
        "        return decoder.decode(raw)\n",
        "        decoded = decoder.decode(raw)\n        return decoded if b'shape' not in raw else 1 / 0\n",
        (DECODING,),
    ),
    Fault(
        "lax decoding",
        "http/decode.py",
        "        return decoder.decode(raw)\n",
        "        return msgspec.json.decode(raw, type=decoder.type, strict=False)\n",
        (DECODING,),
    ),
    Fault("any media type is taken", "http/post.py", "            _check_media(media)\n", "", (DECODING,)),
    Fault(
        "a pattern that lets a newline through",
        "answers/facts.py",
        "$(?!\\n)",
        "$",
        (DOCUMENT,),
    ),
    Fault(
        "a mistake of ours has no problem",
        "http/door.py",
        "        except Exception:  # noqa: BLE001",
        "        except ZeroDivisionError:  # noqa: BLE001",
        (DOOR,),
    ),
    Fault(
        "unknown fields are taken",
        "answers/estimate.py",
        "forbid_unknown_fields=True",
        "forbid_unknown_fields=False",
        (DOCUMENT,),
    ),
)
