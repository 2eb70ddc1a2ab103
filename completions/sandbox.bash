# SPDX-License-Identifier: Apache-2.0
# bash completion for sandbox, which it asks at each press of the key: src/cli/complete.hpp has the contract.
#
#   source <(sandbox completion bash)

# Sets `words` to the words up to the cursor: glued together where bash took them apart at = and :, quotes removed.
_sandbox_words() {
  local rest=${COMP_LINE:0:COMP_POINT} blanks piece last=-1 i
  for ((i = 0; i <= COMP_CWORD; i++)); do
    blanks=${rest%%[![:space:]]*}
    rest=${rest#"$blanks"}
    piece=${COMP_WORDS[i]}
    if ((i == COMP_CWORD)); then piece=$rest; fi
    rest=${rest#"$piece"}
    if [[ -n $blanks ]] || ((last < 0)); then last=$((last + 1)); fi
    words[last]=${words[last]-}$piece
  done
  quote=
  if [[ ${words[last]} == [\"\']* ]]; then quote=${words[last]:0:1}; fi
  words=("${words[@]//[\\\"\']/}")
}

# Adds one candidate, as it has to be typed. `head` is what bash leaves in place, since the word breaks behind it.
_sandbox_add() {
  local value=${1#"$head"} tilde=
  if [[ -z $quote ]]; then
    if [[ $value == '~'* ]]; then tilde='~' value=${value#?}; fi
    printf -v value %q "$value"
    if [[ $value == "''" ]]; then value=; fi
  fi
  COMPREPLY+=("$tilde$value")
}

# _sandbox_files BEFORE OPTION...: the host's files behind BEFORE in the word.
_sandbox_files() {
  local before=$1 file files
  mapfile -t files < <(compgen "${@:2}" -- "${cur#"$before"}" 2>/dev/null)
  for file in "${files[@]}"; do
    if [[ -d ${file/#\~\//"$HOME/"} ]]; then file+=/; fi
    _sandbox_add "$before$file"
  done
}

_sandbox() {
  local words=() quote cur head='' breaks line
  COMPREPLY=()
  _sandbox_words
  cur=${words[${#words[@]} - 1]}
  breaks=${COMP_WORDBREAKS//[^:=@]/}
  if [[ -z $quote && -n $breaks && $cur == *[$breaks]* ]]; then head=${cur%"${cur##*[$breaks]}"}; fi
  while IFS= read -r line; do
    case $line in
      ':files'$'\t'*) _sandbox_files "${line#*$'\t'}" -f ;;
      ':directories'$'\t'*) _sandbox_files "${line#*$'\t'}" -d ;;
      *) _sandbox_add "${line%%$'\t'*}" ;;
    esac
  done < <("${words[0]/#\~\//"$HOME/"}" __complete -- "${words[@]:1}" 2>/dev/null)
  if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[:=/] ]]; then compopt -o nospace 2>/dev/null; fi
}

complete -F _sandbox sandbox
