# Installs the packages that building, testing, the examples and the benchmarks of posenc need, on Debian 12, Ubuntu 24.04
# and later, as root or through sudo. Says and does nothing when they are all there. To be sourced from bash; the one list
# of packages of the project.
posenc_packages=(
  g++ cmake ninja-build
  libfmt-dev nlohmann-json3-dev libcli11-dev libxtensor-dev libxsimd-dev
  libgmp-dev libmpfr-dev libmpfi-dev
  libhdf5-dev libdeflate-dev zlib1g-dev
  doctest-dev libboost-dev python3 python3-numpy python3-h5py  # tests
  libbenchmark-dev time                                        # benchmarks
)

posenc_install_dependencies() {
  local package missing=() as_root=()
  if ! command -v dpkg-query > /dev/null; then
    echo "tests/deps.sh knows Debian and Ubuntu only; install what these packages hold: ${posenc_packages[*]}" >&2
    return 0  # the build says what is missing, if anything is
  fi
  for package in "${posenc_packages[@]}"; do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null || true) == installed ]] || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  if ((EUID != 0)); then
    if ! command -v sudo > /dev/null; then
      echo "tests/deps.sh: not root and no sudo; ask for: apt-get install ${missing[*]}" >&2
      return 1
    fi
    as_root=(sudo)
  fi
  echo "installing ${missing[*]}" >&2
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=300)
  # The package lists are fetched only when there are none, or when they turn out to be too old.
  if compgen -G '/var/lib/apt/lists/*_Packages*' > /dev/null &&
     "${apt[@]}" install --no-install-recommends "${missing[@]}" < /dev/null > /dev/null 2>&1; then
    return 0
  fi
  "${apt[@]}" update < /dev/null >&2
  "${apt[@]}" install --no-install-recommends "${missing[@]}" < /dev/null >&2
}
