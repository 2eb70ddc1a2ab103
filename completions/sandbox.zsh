#compdef sandbox
# SPDX-License-Identifier: Apache-2.0
# zsh completion for sandbox, which it asks at each press of the key: src/cli/complete.hpp has the contract.
#
#   source <(sandbox completion zsh)      after compinit; or as _sandbox in a directory of $fpath

_sandbox() {
  local answer line value description
  local -a whole open
  local program=${(Q)words[1]}
  answer=$("${program/#\~\//$HOME/}" __complete -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null) || return 1
  local files= before= result=1
  for line in "${(@f)answer}"; do
    [[ -n $line ]] || continue
    value=${line%%$'\t'*} description=
    [[ $line == *$'\t'* ]] && description=${line#*$'\t'}
    case $value in
      (:files) files='_files' before=$description ;;
      (:directories) files='_files -/' before=$description ;;
      (*)
        value=${${value//\\/\\\\}//:/\\:}
        [[ -n $description ]] && value+=:$description
        # What ends like this goes on: no space follows.
        if [[ ${line%%$'\t'*} == *[:=/] ]]; then open+=("$value"); else whole+=("$value"); fi ;;
    esac
  done
  (( $#whole )) && _describe -t values 'sandbox' whole && result=0
  (( $#open )) && _describe -t places 'sandbox' open -S '' && result=0
  if [[ -n $files ]]; then
    compset -p ${#before}
    ${=files} && result=0
  fi
  return result
}

# As a file of $fpath this is the function's first call; sourced, it only registers.
if [[ $funcstack[1] == _sandbox ]]; then _sandbox "$@"; else compdef _sandbox sandbox; fi
