# house_install_test.sh BUILD_DIR: what `cmake --install` lays down works from anywhere: scenarios by installed name and by
# path, and the profiles and topologies that they name, all from the prefix.
set -euo pipefail
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
cmake --install "$1" --prefix "$prefix" >/dev/null
cd /
rehearse=$prefix/bin/rehearse
share=$prefix/share/rehearse
"$rehearse" check "$share/scenarios/gpt3-175b-1024xa100.yaml" >"$prefix/by_path"
"$rehearse" check gpt3-175b-1024xa100 >"$prefix/by_name"
diff "$prefix/by_path" "$prefix/by_name"

# A scenario of the user's own, in a folder of its own, finds the installed model, topology and profile.
sed 's/^name: .*/name: mine/' "$share/scenarios/gpt3-175b-1024xa100.yaml" >"$prefix/mine.yaml"
"$rehearse" check "$prefix/mine.yaml" >/dev/null

# It is the prefix that is read, not the tree it was built in: spoil each kind of file there and the program must see it.
for file in topologies/dgx-a100-80g.yaml scenarios/models/gpt3-175b.yaml calibration/profiles/a100-sxm4-80gb.yaml; do
  cp "$share/$file" "$prefix/kept"
  echo 'no_such_key: 1' >>"$share/$file"
  status=0
  "$rehearse" check "$prefix/mine.yaml" >/dev/null 2>"$prefix/said" || status=$?
  if [[ $status != 2 ]] || ! grep -q "^$share/$file:[0-9:]* error: .*no_such_key" "$prefix/said"; then
    echo "FAILED: $file is not the one that was read (exit status $status)"
    cat "$prefix/said"
    exit 1
  fi
  cp "$prefix/kept" "$share/$file"
done
