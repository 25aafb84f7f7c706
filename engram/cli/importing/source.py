"""The bytes to import, to be read twice: once to check them, once to write them."""

from __future__ import annotations

import gzip
import hashlib
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from engram.cli.errors import CommandError
from engram.cli.text import one_line

_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_OTHER_BOMS = (b"\xff\xfe", b"\xfe\xff")
_MEMORY_BYTES = 16 * 1024 * 1024
_PIECE_BYTES = 1024 * 1024
_NAME_CHARS = 200


@dataclass(frozen=True, slots=True)
class Source:
    """A seekable stream, and a name for the session of a conversation in it: the same for the same file."""

    stream: BinaryIO
    name: str
    suffix: str

    def rewind(self) -> BinaryIO:
        """The stream at the beginning of its text. Raises CommandError for UTF-16, which Windows likes to write."""
        self.stream.seek(0)
        beginning = self.stream.read(len(_BOM))
        if beginning.startswith(_OTHER_BOMS):
            raise CommandError("the file is in UTF-16; save it as UTF-8")
        self.stream.seek(len(_BOM) if beginning == _BOM else 0)
        return self.stream

    @property
    def size(self) -> int:
        """Bytes."""
        at = self.stream.tell()
        end = self.stream.seek(0, 2)
        self.stream.seek(at)
        return end


@contextmanager
def open_source(file: str) -> Iterator[Source]:
    """Open a file; ``-`` is stdin, which is kept on disk meanwhile. Raises OSError and CommandError."""
    if file == "-":
        with _spooled(sys.stdin.buffer) as spooled:
            stream = _unpacked(spooled)
            yield Source(stream, f"stdin-{_digest(stream)[:12]}", "")
        return
    if "\x00" in file:
        raise CommandError("no file's name holds NUL")
    path = Path(file)
    with path.open("rb") as opened:
        name = one_line(path.stem)[:_NAME_CHARS] or "file"
        suffix = Path(path.stem if path.suffix.lower() == ".gz" else path).suffix.lower()
        if opened.seekable():
            yield Source(_unpacked(opened), name, suffix)
            return
        with _spooled(opened) as stream:
            yield Source(_unpacked(stream), name, suffix)


def _unpacked(stream: BinaryIO) -> BinaryIO:
    """What is in a file that was compressed by gzip, or the file."""
    stream.seek(0)
    compressed = stream.read(len(_GZIP)) == _GZIP
    stream.seek(0)
    return cast(BinaryIO, gzip.GzipFile(fileobj=stream, mode="rb")) if compressed else stream


@contextmanager
def _spooled(stream: BinaryIO) -> Iterator[BinaryIO]:
    with tempfile.SpooledTemporaryFile(max_size=_MEMORY_BYTES) as spool:
        shutil.copyfileobj(stream, spool)
        yield cast(BinaryIO, spool)


def _digest(stream: BinaryIO) -> str:
    stream.seek(0)
    digest = hashlib.sha256()
    while piece := stream.read(_PIECE_BYTES):
        digest.update(piece)
    return digest.hexdigest()
