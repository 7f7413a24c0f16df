#!/usr/bin/env bash
# Installs the command: the archive of a release, if its attestation shows that the release workflow built it for this tag, or the
# checkout of the action.
set -euo pipefail

bin=$RUNNER_TEMP/probesim/bin/$KEY # another version has another key
repository=probesim/probesim

download() {
  local os arch archive
  case $RUNNER_OS in
    Linux) os=linux ;;
    macOS) os=darwin ;;
    Windows) os=windows ;;
  esac
  case $RUNNER_ARCH in
    X64) arch=amd64 ;;
    ARM64) arch=arm64 ;;
    *) echo "::error title=probesim::A release has no archive for $RUNNER_ARCH. Build it with version: source." && return 2 ;;
  esac
  archive=probesim_${os}_$arch.tar.gz
  [ "$os" != windows ] || archive=${archive%.tar.gz}.zip
  cd "$1"
  gh release download "$VERSION" --repo "$repository" --pattern "$archive"
  gh attestation verify "$archive" --repo "$repository" --source-ref "refs/tags/$VERSION" \
    --signer-workflow "$repository/.github/workflows/release.yaml"
  case $archive in
    *.zip) unzip -q "$archive" probesim.exe ;;
    *) tar -xzf "$archive" probesim ;;
  esac
  rm "$archive"
}

if [ ! -x "$bin/probesim" ]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  if [ "$VERSION" = source ]; then
    (cd "$ACTION" && go build -o "$work/probesim" ./cmd/probesim)
  else
    (download "$work")
  fi
  mkdir -p "$bin"
  mv "$work"/probesim* "$bin"
fi
echo "$bin" >>"$GITHUB_PATH"
"$bin/probesim" version
