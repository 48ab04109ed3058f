"""Text: CSV as Steelyard writes it, or with a mapping any separated table. ``csv_text.py`` parses the cells."""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from steelyard.log.csv_text import quoted, read_csv
from steelyard.log.format import (
    METADATA_KEY,
    Table,
    TablePart,
    Wanted,
    WritableFormat,
    metadata_of,
    unreadable,
)
from steelyard.log.layout import TableLayout

MARK = f"# {METADATA_KEY} ".encode()  # beginning of a first line with metadata


class Csv(WritableFormat):
    """Text tables, also compressed by gzip."""

    suffixes = (".csv", ".csv.gz")
    mapped_suffixes = (".txt", ".txt.gz", ".tsv", ".tsv.gz", ".dat", ".dat.gz")

    def table(self, data: bytes, path: Path, wanted: Wanted, layout: TableLayout | None) -> Table:
        """Parse the wanted columns; metadata is a comment before the header."""
        metadata, text, first_line = _opened(path, unpack(data, path))
        return read_csv(text, str(path), first_line, layout, wanted)._replace(metadata=metadata)

    def parts(self, path: Path, part_bytes: int) -> Iterator[TablePart]:
        """Read blocks of lines."""
        total, line, header = max(path.stat().st_size, 1), 1, b""
        metadata: Mapping[str, Any] = {}
        try:
            with open(path, "rb") as raw, gzip.GzipFile(fileobj=raw) if _is_packed(path) else raw as opened:
                file = cast(IO[bytes], opened)
                rest, block = file.read(len(codecs.BOM_UTF8)).removeprefix(codecs.BOM_UTF8), b"more"
                while block:
                    block = file.read(part_bytes)
                    whole = rest + block
                    end = whole.rfind(b"\n") + 1 if block else len(whole)
                    lines, rest = whole[:end], whole[end:]
                    if lines and not header:
                        metadata, lines, line = _opened(path, lines)
                        header, _, lines = lines.partition(b"\n")
                        line += 1
                    if lines.strip() or (not block and line <= 3):  # a table without samples is refused as one
                        columns = read_csv(header + b"\n" + lines, str(path), line - 1).columns
                        yield TablePart(columns, metadata, f"{path}, lines from {line}", min(raw.tell() / total, 1.0))
                        line += lines.count(b"\n")
        except (OSError, EOFError, zlib.error) as error:
            raise unreadable(path, error) from None

    def encode(self, path: Path, columns: Mapping[str, np.ndarray], metadata: str) -> bytes:
        """Return the bytes of a file."""
        buffer = io.BytesIO()
        if metadata != "{}":
            buffer.write(MARK + metadata.encode() + b"\n")
        buffer.write((",".join(map(quoted, columns)) + "\n").encode())
        np.savetxt(buffer, np.column_stack(list(columns.values())), delimiter=",", fmt="%.17g")
        return gzip.compress(buffer.getvalue(), mtime=0) if _is_packed(path) else buffer.getvalue()


def unpack(data: bytes, path: Path) -> bytes:
    """Return the text of a file, decompressed and without a byte-order mark."""
    try:
        data = gzip.decompress(data) if _is_packed(path) else data
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(path, error) from None
    return data.removeprefix(codecs.BOM_UTF8)


def _opened(path: Path, text: bytes) -> tuple[Mapping[str, Any], bytes, int]:
    """Metadata, the text after it, and the number of that text's first line."""
    if not text.startswith(MARK):
        return {}, text, 1
    head, _, text = text.partition(b"\n")
    return metadata_of(path, head[len(MARK) :]), text, 2


def _is_packed(path: Path) -> bool:
    return path.name.lower().endswith(".gz")
