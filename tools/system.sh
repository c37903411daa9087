# Sourced by the scripts beside it. On Debian they use Debian's own programs and Python modules, whatever else comes
# first in PATH, so that what is tested is what tools/setup installs. Only a compiler that CXX names may come from
# elsewhere. Other systems keep their PATH.
if [ -x /usr/bin/dpkg-query ]; then
  if [ -n "${CXX:-}" ]; then
    program=${CXX%% *}
    CXX=$(command -v "$program" || echo "$program")${CXX#"$program"}
  fi
  export PATH=/usr/sbin:/usr/bin:/sbin:/bin PYTHONNOUSERSITE=1
  unset PYTHONHOME PYTHONPATH
fi
