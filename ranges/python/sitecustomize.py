"""
First on the way of every Python that `iolens run --ranges` starts: has PyTorch's ranges followed, then lets
the site's own file of this name run. Written in what every Python understands.
"""

import os
import sys


def _follow():
    here = os.path.dirname(os.path.abspath(__file__))
    try:
        if sys.version_info >= (3, 7):
            import _iolens_torch

            _iolens_torch.watch()
    except Exception:
        pass
    sys.path[:] = [place for place in sys.path if os.path.abspath(place) != here]


def _let_the_site_s_own_run():
    ours = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        if getattr(error, "name", "sitecustomize") != "sitecustomize":
            raise
    finally:
        if ours is not None:
            sys.modules.setdefault("sitecustomize", ours)


_follow()
_let_the_site_s_own_run()
