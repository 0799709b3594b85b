from spack_repo.builtin.build_systems.python import PythonPackage

from spack.package import *


class Iolens(PythonPackage):
    """What a program's I/O does: which files, through which interface, how much, how fast, how well, and what to change"""

    # Not released yet: spack dev-build, or spack develop with the folder of the sources.
    version("0.1.0")

    license("BSD-3-Clause")

    depends_on("c", type="build")
    depends_on("ninja", type="build")
    depends_on("py-meson-python@0.17:0", type="build")
    depends_on("meson@1.11:1", type="build")
    depends_on("zlib-api")
    depends_on("bzip2")
    depends_on("libdeflate")

    depends_on("python@3.9:", type=("build", "run"))
    depends_on("py-tomli@2:", type=("build", "run"), when="^python@:3.10")
    depends_on("py-click@8.1:8", type=("build", "run"))
    depends_on("py-duckdb@1.4.5:2", type="run")
    depends_on("py-mpmath@1.3:1", type="run")
    depends_on("py-pyelftools@0.29:0", type="run")
    depends_on("py-rich@13:15", type="run")

    import_modules = ["iolens", "iolens.log"]
