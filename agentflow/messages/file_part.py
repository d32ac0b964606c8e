"""The file part: an image, a document or a sound that goes with a message."""

from __future__ import annotations

import base64
import hashlib
import mimetypes
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from agentflow.graph.argument import TEXT, Wanted, check_fields, instance, or_none

__all__ = ["FILES", "FilePart"]


_WANTED: Final = {
    "media_type": TEXT,
    "data": or_none(instance(bytes, "bytes")),
    "url": or_none(TEXT),
    "name": or_none(TEXT),
}


@dataclass(frozen=True, slots=True, repr=False)
class FilePart:
    """A file, by its content or by its address. What a model can do with it depends on the model.

    It counts no characters: what it costs is counted in tokens, by the provider.

    Args:
        media_type: What it is, such as `image/png` or `application/pdf`.
        data: Its content.
        url: Where it lies, in place of the content; whoever gets it fetches it from there.
        name: What it is called.

    Raises:
        TypeError: One of them is of the wrong kind.
        ValueError: It has both content and address, or neither; or the media type is none.
    """

    media_type: str
    data: bytes | None = None
    url: str | None = None
    name: str | None = None
    type: Literal["file"] = "file"

    # For pydantic, wherever messages are read from JSON or written to it.
    __pydantic_config__ = {"ser_json_bytes": "base64", "val_json_bytes": "base64"}  # noqa: RUF012

    def __post_init__(self) -> None:
        check_fields(self, _WANTED)
        if "/" not in self.media_type:
            raise ValueError(
                f"media_type={self.media_type!r} is none: it is such as 'image/png' or 'application/pdf'"
            )
        if (self.data is None) == (self.url is None):
            raise ValueError(
                "a FilePart has either data, the content itself, or url, where it lies"
            )

    @classmethod
    def read(cls, path: str | Path) -> FilePart:
        """The content of a file, with its name; the media type is told by the name.

        Raises:
            ValueError: The name does not tell what it is; then give `FilePart(media_type, data)`.
            OSError: It cannot be read.
        """
        path = Path(path)
        media_type = mimetypes.guess_type(path.name)[0]
        if media_type is None:
            raise ValueError(
                f"{path.name!r} does not tell its media type; give FilePart(media_type, path.read_bytes())"
            )
        return cls(media_type, path.read_bytes(), name=path.name)

    @property
    def family(self) -> str:
        """The first half of the media type: `image`, `audio`, `text` or `application`, for instance."""
        return self.media_type.partition("/")[0]

    @property
    def base64(self) -> str:
        """The content in base 64; empty where there is only an address."""
        return base64.b64encode(self.data or b"").decode()

    @property
    def data_url(self) -> str:
        """The address, or one that holds the content itself."""
        return self.url if self.url is not None else f"data:{self.media_type};base64,{self.base64}"

    def __repr__(self) -> str:
        # The content by its digest: a message is told in logs, and known again by what it says of itself.
        if self.data is None:
            lies = f"url={self.url!r}"
        else:
            digest = hashlib.sha256(self.data).hexdigest()
            lies = f"data=<{len(self.data)} bytes, sha256 {digest}>"
        name = "" if self.name is None else f", name={self.name!r}"
        return f"FilePart({self.media_type!r}, {lies}{name})"


FILES: Final = Wanted(
    lambda files: isinstance(files, tuple) and all(isinstance(each, FilePart) for each in files),
    "a list of FileParts",
)
"""What goes with a text, once it is a tuple."""
