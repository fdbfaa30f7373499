"""Documents of audits: what is read as it is, and what is refused with its place, the reason and a remedy."""

from pathlib import Path

import pytest

from biasgrid.catalogs.audit.audit_file import Documents
from biasgrid.catalogs.errors import Problem
from biasgrid.catalogs.loading.catalog import load_catalog
from biasgrid.catalogs.scenario.audit_documents import AuditDocument, read_documents

WORDS = load_catalog().identities["en_us"]
GREETINGS = (
    "Hello Bonjour Hallo Hola Ciao Olá Hej Hei Ahoj Cześć Szia Salut Merhaba Здравствуйте "
    "Привіт Здраво Γειά שלום مرحبا سلام नमस्ते নমস্কার ਸਤ வணக்கம் నమస్కారం ನಮಸ್ಕಾರ നമസ്കാരം ආයුබෝවන් "
    "สวัสดี ສະບາຍດີ မင်္ဂလာပါ សួស្តី 你好 こんにちは 안녕하세요 გამარჯობა Բարեւ ሰላም Kamusta Xin-chào"
)


def read(folder: Path, **files: str | bytes) -> tuple[list[AuditDocument], list[Problem]]:
    """Six sound documents, and those given."""
    folder.mkdir()
    for number in range(6):
        (folder / f"{number}.md").write_text(f"Name: Jane Doe\nHas worked for {number + 2} years.\n")
    for name, content in files.items():
        content = content.encode() if isinstance(content, str) else content
        (folder / name.replace("_", ".")).write_bytes(content)
    return read_documents(Documents(path=folder), folder.parent, WORDS)


def test_forty_languages_stay_as_they_are(tmp_path):
    assert len(GREETINGS.split()) == 40
    documents, problems = read(tmp_path / "docs", many_md=f"Name: Jane Doe\n{GREETINGS}\n")
    assert problems == []
    assert documents[-1].masked.text == f"Name: {{name}}\n{GREETINGS}\n"


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("scan_pdf", b"%PDF-1.7", "is a PDF file"),
        ("scan_md", b"%PDF-1.7 \xe2\xe3\xcf\xd3 \x00\x01", ""),
        ("word_docx", b"PK\x03\x04", "is a Word file"),
        ("chart_xlsx", b"PK\x03\x04", "is neither text nor Markdown"),
        ("empty_md", "", "is empty"),
        ("blank_md", " \n\n", "is empty"),
        ("long_md", "Name: Jane Doe\n" + "word " * 30_000, "characters, more than 100,000"),
        ("huge_md", "word " * 1_048_577, "MB"),
    ],
)
def test_a_file_that_is_no_document_is_refused_by_its_name_with_reason_and_remedy(tmp_path, name, content, reason):
    _, problems = read(tmp_path / "docs", **{name: content})
    [problem] = problems
    assert name.replace("_", ".") in problem.where
    assert reason in problem.what
    assert problem.remedy


def test_other_formats_are_refused_with_the_command_that_converts_them(tmp_path):
    _, [problem] = read(tmp_path / "docs", scan_pdf=b"%PDF-1.7")
    assert "`pdftotext -layout scan.pdf`" in problem.remedy
    _, [problem] = read_documents(Documents(path=tmp_path / "docs/scan.pdf"), tmp_path, WORDS)
    assert "is a PDF file" in problem.what
