# house_install_test.sh BUILD_DIR: what `cmake --install` lays down works from anywhere, without the source tree: scenarios
# by installed name and by path, and the profiles and topologies that they name.
set -euo pipefail
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
cmake --install "$1" --prefix "$prefix" >/dev/null
cd /
rehearse=$prefix/bin/rehearse
share=$prefix/share/rehearse
"$rehearse" check "$share/scenarios/gpt3-175b-1024xa100.yaml" >"$prefix/by_path"
"$rehearse" check gpt3-175b-1024xa100 >"$prefix/by_name"
"$rehearse" check gpt3-175b-1024xa100 --set cluster.topology=dgx-a100-80g --set profile=a100-sxm4-80gb >/dev/null

# A scenario of the user's own, in a folder of its own, finds the installed model, topology and profile.
sed 's/^name: .*/name: mine/' "$share/scenarios/gpt3-175b-1024xa100.yaml" >"$prefix/mine.yaml"
"$rehearse" check "$prefix/mine.yaml" >/dev/null

# The data come from the prefix: without them the program has nothing to fall back on.
mv "$share/topologies" "$prefix/elsewhere"
if "$rehearse" check gpt3-175b-1024xa100 >/dev/null 2>&1; then
  echo "FAILED: found a topology outside of the installation"
  exit 1
fi
