# SPDX-License-Identifier: Apache-2.0
# fish completion for sandbox, which it asks at each press of the key: src/cli/complete.hpp has the contract.
#
#   sandbox completion fish >~/.config/fish/completions/sandbox.fish

function __sandbox_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -l plain (string unescape -- "$word")
    or set plain "$word"
    set -l program $words[1]
    set -e words[1]
    for line in (command $program __complete -- $words "$plain" 2>/dev/null)
        set -l parts (string split -m 1 \t -- $line)
        switch $parts[1]
            case :files :directories
                set -l path (string sub -s (math (string length -- "$parts[2]") + 1) -- "$plain")
                set -l found (__fish_complete_path "$path")
                test $parts[1] = :directories
                and set found (__fish_complete_directories "$path" '')
                for file in $found
                    printf '%s%s\n' "$parts[2]" $file
                end
            case '*'
                echo $line
        end
    end
end

complete -c sandbox -f -a '(__sandbox_complete)'
