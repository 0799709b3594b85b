"""What a build of iolens is made of, as a CycloneDX bill of materials: `make sbom`.

Libraries that were linked statically are known by the words that their authors left in them (of libdeflate: ours),
shared ones by what the products ask the loader for, Python packages by the metadata of this environment, files of
others by VENDORED. The same build gives the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import re
import subprocess
import uuid
from collections.abc import Iterator
from datetime import datetime, timezone
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import command
from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType, Property
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.model.license import License
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from packageurl import PackageURL
from packaging.requirements import Requirement

# Only for work in this repository: an installation does not have it.
DEVELOPMENT = {"test", "full", "docs", "lint"}
# Of the machine that iolens runs on.
LIBC = r"lib(c|m|dl|pthread|rt|gcc_s)\.so|ld-linux"
MPI = r"lib(mpi|mpich|mpi_abi)\.so"


class Linked(NamedTuple):
    """A library of C: what it says of its version, in a product or a shared library, and how the loader calls it."""

    name: str
    words: bytes | None
    soname: str
    license: str
    cpe: str


LINKED = (
    Linked("zlib", rb" (?:in|de)flate ([\d.]+) Copyright", "libz.so", "Zlib", "zlib:zlib"),
    Linked("bzip2", rb"\x00([\d.]+), \d+-\w{3}-\d{4}\x00", "libbz2.so", "bzip2-1.0.6", "bzip:bzip2"),
    Linked(
        "libdeflate", rb"libdeflate ([\d.]+)\x00", "libdeflate.so", "MIT", "libdeflate_project:libdeflate"
    ),
    Linked("libbpf", None, "libbpf.so", "LGPL-2.1-only OR BSD-2-Clause", "libbpf_project:libbpf"),
)


class Vendored(NamedTuple):
    """A file of others that the package includes."""

    name: str
    path: str
    version: str
    license: str


VENDORED = (Vendored("htmx.org", "python/iolens/portal/static/htmx.min.js", r'version:"([\d.]+)"', "0BSD"),)


fail = partial(command.fail, "sbom")


def licenses(text: str) -> list[License]:
    return [LicenseFactory().make_from_string(text)] if text else []


def products(build: Path) -> dict[str, bytes]:
    """What the build installs and a linker made, by its name."""
    listed = build / "meson-info" / "intro-installed.json"
    if not listed.is_file():
        fail(f"{build}: no build of iolens: ./bootstrap build")
    paths = [Path(path) for path in json.loads(listed.read_text()) if path.startswith(str(build.resolve()))]
    found = {path.name: path.read_bytes() for path in paths if path.is_file()}
    return {name: data for name, data in found.items() if data.startswith((b"\x7fELF", b"!<arch>"))}


def needed(data: bytes) -> list[str]:
    """The shared libraries that an object names."""
    if not data.startswith(b"\x7fELF"):
        return []
    section = ELFFile(io.BytesIO(data)).get_section_by_name(".dynamic")
    if not isinstance(section, DynamicSection):
        return []
    return [str(vars(tag)["needed"]) for tag in section.iter_tags() if tag.entry.d_tag == "DT_NEEDED"]


def static_versions(library: Linked, data: bytes) -> set[str]:
    return {words.decode() for words in re.findall(library.words, data)} if library.words else set()


def shared_version(library: Linked, soname: str) -> str:
    """Of the library that the loader takes: its words (libbz2.so.1.0.4 is 1.0.8), else the name of its file."""
    listed = subprocess.run(["/sbin/ldconfig", "-p"], check=True, capture_output=True, text=True).stdout
    found = re.search(rf"^\s*{re.escape(soname)} .*=> (.*)$", listed, re.MULTILINE)
    if not found:
        raise SystemExit(f"sbom: {soname} is not installed here, and the build needs it")
    path = Path(found[1]).resolve()
    return next(iter(static_versions(library, path.read_bytes())), path.name.split(".so.")[-1])


def linked_component(library: Linked, kind: str, version: str, users: list[str]) -> Component:
    purl = PackageURL("generic", None, library.name, version)
    return Component(
        name=library.name,
        version=version,
        purl=purl,
        bom_ref=f"{purl}#{kind}",
        cpe=f"cpe:2.3:a:{library.cpe}:{version}:*:*:*:*:*:*:*",
        licenses=licenses(library.license),
        properties=[Property(name="iolens:linked", value=kind)]
        + [Property(name="iolens:product", value=user) for user in users],
    )


def linked_components(found: dict[str, bytes]) -> Iterator[Component]:
    expected = "|".join([*(re.escape(library.soname) for library in LINKED), LIBC, MPI])
    asked = {name: needed(data) for name, data in found.items()}
    for product, names in asked.items():
        for other in names:
            if not re.match(expected, other):
                fail(f"{product} needs {other}, which LINKED does not have")
    for library in LINKED:
        users: dict[tuple[str, str], list[str]] = {}
        for product, data in sorted(found.items()):
            for version in static_versions(library, data):
                users.setdefault(("static", version), []).append(product)
            for soname in asked[product]:
                if soname.startswith(library.soname):
                    users.setdefault(("shared", shared_version(library, soname)), []).append(product)
        for (kind, version), names in sorted(users.items()):
            yield linked_component(library, kind, version, names)


def vendored_components(root: Path) -> Iterator[Component]:
    for file in VENDORED:
        data = (root / file.path).read_bytes()
        version = re.search(file.version, data.decode())
        if not version:
            raise SystemExit(f"sbom: {file.path}: no version of {file.name} in it")
        purl = PackageURL("npm", None, file.name, version[1])
        yield Component(
            name=file.name,
            version=version[1],
            purl=purl,
            bom_ref=str(purl),
            hashes=[HashType(alg=HashAlgorithm.SHA_256, content=hashlib.sha256(data).hexdigest())],
            licenses=licenses(file.license),
            properties=[Property(name="iolens:file", value=file.path)],
        )


def license_of(package: metadata.Distribution) -> str:
    """Its expression; else a line of words; else what its classifiers call it."""
    about = package.metadata
    for field in ("License-Expression", "License"):
        value = str((about.get_all(field) or [""])[0]).strip()
        if value not in ("", "UNKNOWN") and "\n" not in value and len(value) <= 80:
            return value
    kinds = [line for line in about.get_all("Classifier") or [] if line.startswith("License ::")]
    return ", ".join(line.rsplit(" :: ", 1)[-1] for line in kinds)


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def installed(name: str) -> metadata.Distribution | None:
    try:
        return metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return None


def requirements(package: metadata.Distribution, extras: set[str]) -> list[Requirement]:
    """What a package asks for here, with one of its extras, or with none."""
    wanted = [Requirement(line) for line in package.requires or []]
    tried = extras or {""}
    return [r for r in wanted if not r.marker or any(r.marker.evaluate({"extra": e}) for e in tried)]


class Packages:
    """Python packages that iolens asks for, and what these ask for, as far as they are installed here."""

    def __init__(self, iolens: metadata.Distribution) -> None:
        self.extras: dict[str, set[str]] = {}  # of each package: "" where iolens always needs it
        self.edges: dict[str, set[str]] = {}
        self.absent: dict[str, str] = {}
        always = requirements(iolens, set())
        known = {str(requirement) for requirement in always}
        self.direct = {self.add(requirement, "") for requirement in always}
        for extra in sorted(set(iolens.metadata.get_all("Provides-Extra") or []) - DEVELOPMENT):
            chosen = [r for r in requirements(iolens, {extra}) if str(r) not in known]
            self.direct |= {self.add(requirement, extra) for requirement in chosen}
        self.components = {name: self.component(name) for name in self.extras}

    def add(self, requirement: Requirement, extra: str) -> str:
        name = canonical(requirement.name)
        seen = extra in self.extras.setdefault(name, set())
        self.extras[name].add(extra)
        edges = self.edges.setdefault(name, set())
        package = installed(name)
        if not package:
            self.absent[name] = str(requirement.specifier)
            return name
        for further in requirements(package, set(requirement.extras)):
            other = canonical(further.name)
            if other != name and not (seen and other in edges):
                edges.add(other)
                self.add(further, extra)
        return name

    def component(self, name: str) -> Component:
        package, extras = installed(name), self.extras[name]
        version = package.version if package else None
        purl = PackageURL("pypi", None, name, version)
        optional = "" not in extras
        properties = [Property(name="iolens:extra", value=extra) for extra in extras if optional]
        if name in self.absent:
            properties.append(Property(name="iolens:not-installed", value=self.absent[name]))
        return Component(
            name=name,
            version=version,
            purl=purl,
            bom_ref=str(purl),
            scope=ComponentScope.OPTIONAL if optional else ComponentScope.REQUIRED,
            licenses=licenses(license_of(package)) if package else [],
            properties=properties,
        )


def bill(root: Path, build: Path) -> str:
    epoch = command.epoch(root)
    if not epoch.isdigit():
        fail("no commit to take the time from: set SOURCE_DATE_EPOCH to seconds since 1970")
    iolens = metadata.distribution("iolens")
    purl = PackageURL("pypi", None, "iolens", iolens.version)
    main = Component(
        name="iolens",
        type=ComponentType.APPLICATION,
        version=iolens.version,
        purl=purl,
        bom_ref=str(purl),
        licenses=licenses(license_of(iolens)),
    )
    packages = Packages(iolens)
    native = [*linked_components(products(build)), *vendored_components(root)]
    bom = Bom(components=[*native, *packages.components.values()], serial_number=uuid.UUID(int=0))
    bom.metadata.component = main
    bom.metadata.timestamp = datetime.fromtimestamp(int(epoch), timezone.utc)
    bom.register_dependency(main, [*native, *(packages.components[name] for name in packages.direct)])
    for name, others in packages.edges.items():
        bom.register_dependency(packages.components[name], [packages.components[o] for o in others])
    # The number follows from everything else.
    bom.serial_number = uuid.uuid5(uuid.NAMESPACE_URL, JsonV1Dot6(bom).output_as_string())
    return JsonV1Dot6(bom).output_as_string(indent=2) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="make sbom", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--build", type=Path, default=Path("build"), help="the Meson build folder (build)")
    parser.add_argument("--to", type=Path, default=Path("dist"), help="the folder of the file (dist)")
    given = parser.parse_args()
    text = bill(Path(__file__).resolve().parent.parent, given.build)
    wrong = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    if wrong:
        fail(f"not what CycloneDX 1.6 asks for: {wrong}")
    given.to.mkdir(parents=True, exist_ok=True)
    path = given.to / f"iolens-{metadata.version('iolens')}.cdx.json"
    path.write_text(text)
    print(path)


if __name__ == "__main__":
    main()
