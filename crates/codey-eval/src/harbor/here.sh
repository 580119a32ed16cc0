# Harbor's scripts name the paths of a container. In the copies of FOLDER's scripts come those that are here; folders
# in it are data.
use_paths_here() { # FOLDER
  local file pair paths=()
  for pair in "@WORKDIR@=$PWD" "/logs=$tmp/logs" "/tests=$tmp/tests" "/solution=$tmp/solution"; do
    pair="s#(^|[^A-Za-z0-9_./-])${pair%%=*}(/|[^A-Za-z0-9_./-]|\$)#\\1${pair#*=}\\2#g"
    # Twice: neighbours share the letter between them.
    paths+=(-e "$pair" -e "$pair")
  done
  for file in "$1"/*; do
    [ -f "$file" ] && grep -Iq . "$file" || continue
    sed -E "${paths[@]}" "$file" >"$tmp/text" && cat "$tmp/text" >"$file"
  done
}
