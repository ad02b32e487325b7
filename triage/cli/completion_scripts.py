r"""Scripts of completion: one for each shell, from the same words.

Words are ours (names of commands and options, their help), and are quoted all the same.
"""

from collections.abc import Iterator, Sequence

from triage.cli.command_tree import Command, Option

__all__ = ["bash", "fish", "zsh"]


def bash(commands: Sequence[Command]) -> str:
    """For bash 4 and later."""
    cases = "\n".join(_bash_case(command) for command in commands)
    paths = " ".join(_quoted(" ".join(command.path)) for command in commands if command.path)
    return f"""# bash completion for triage; source it
_triage() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}
  local path="" word known
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    for known in {paths}; do
      [[ "${{path:+$path }}$word" == "$known" ]] && {{ path="$known"; break; }}
    done
  done
  local options="" values="" files=""
  case "$path" in
{cases}
  esac
  if [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$current"))
  else
    COMPREPLY=($(compgen -W "$values" -- "$current"))
    if [[ -n $files ]]; then
      local IFS=$'\\n'
      compopt -o filenames 2>/dev/null
      COMPREPLY+=($(compgen -f -- "$current"))
    fi
  fi
}}
complete -F _triage triage
"""


def _bash_case(command: Command) -> str:
    options = " ".join(name for option in command.options for name in option.names)
    lines = [f"    {_quoted(' '.join(command.path))})", f"      options={_quoted(options)}"]
    values = " ".join((*command.below, *command.choices))
    after = [line for option in command.options for line in _bash_value(option)]
    if after:
        lines += ['      case "$previous" in', *after]
        lines.append(f"        *) values={_quoted(values)} files={_flag(command.takes_paths)} ;;")
        lines.append("      esac")
    else:
        lines.append(f"      values={_quoted(values)} files={_flag(command.takes_paths)}")
    return "\n".join([*lines, "      ;;"])


def _bash_value(option: Option) -> Iterator[str]:
    """What may follow an option that takes a value."""
    if option.takes_value:
        names = "|".join(option.names)
        words = _quoted(" ".join(option.choices))
        yield f"        {names}) values={words} files={_flag(option.is_path)} ;;"


def _flag(yes: bool) -> str:
    return "1" if yes else '""'


def zsh(commands: Sequence[Command]) -> str:
    """For zsh 5 and later, with compinit."""
    functions = "\n".join(_zsh_function(command) for command in commands)
    return f"""#compdef triage
# zsh completion for triage; source it, or save it as _triage in a folder of $fpath
{functions}
compdef _triage triage
"""


def _zsh_function(command: Command) -> str:
    name = "_".join(("_triage", *command.path)).replace("-", "_")
    specs = [_zsh_option(option) for option in command.options]
    if command.below:
        specs += ["'1: :->command'", "'*:: :->rest'"]
    elif command.choices:
        specs.append(_quoted(f"1: :({' '.join(command.choices)})"))
    elif command.takes_paths:
        specs.append("'*:path:_files'")
    joined = " \\\n    ".join(specs)
    lines = [f"{name}() {{", "  local state line", f"  _arguments -C \\\n    {joined}"]
    if command.below:
        below = " ".join(command.below)
        prefix = f"{name}_"
        lines += [
            "  case $state in",
            f"    command) compadd {below} ;;",
            f"    rest) (( $+functions[{prefix}${{line[1]//-/_}}] )) &&"
            f" {prefix}${{line[1]//-/_}} ;;",
            "  esac",
        ]
    return "\n".join([*lines, "}"])


def _zsh_option(option: Option) -> str:
    text = option.help.replace("[", "(").replace("]", ")").replace(":", ",")
    value = ""
    if option.takes_value:
        value = ":value:"
        value += "_files" if option.is_path else f"({' '.join(option.choices)})"
    if len(option.names) == 1:
        return _quoted(f"*{option.names[0]}[{text}]{value}")
    # {--a,-b} stands outside of quotes, for the shell to write out.
    return f"'*'{{{','.join(option.names)}}}{_quoted(f'[{text}]{value}')}"


def fish(commands: Sequence[Command]) -> str:
    """For fish 3 and later."""
    lines = ["# fish completion for triage", "complete -c triage -f"]
    helps = {command.path: command.help for command in commands}
    for command in commands:
        here = _fish_here(command)
        for name in command.below:
            text = _quoted(helps[(*command.path, name)])
            lines.append(f"complete -c triage -n {_quoted(here)} -a {name} -d {text}")
        lines += [f"complete -c triage -n {_quoted(here)} -a {word}" for word in command.choices]
        if command.takes_paths:
            lines.append(f"complete -c triage -n {_quoted(here)} -F")
        lines += [_fish_option(here, option) for option in command.options]
    return "\n".join(lines) + "\n"


def _fish_here(command: Command) -> str:
    seen = [f"__fish_seen_subcommand_from {word}" for word in command.path]
    if command.below:
        seen.append(f"not __fish_seen_subcommand_from {' '.join(command.below)}")
    return "; and ".join(seen)


def _fish_option(here: str, option: Option) -> str:
    names = [
        f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names
    ]
    line = f"complete -c triage -n {_quoted(here)} {' '.join(names)} -d {_quoted(option.help)}"
    if not option.takes_value:
        return line
    if option.is_path:
        return f"{line} -r -F"
    words = f" -a {_quoted(' '.join(option.choices))}" if option.choices else ""
    return f"{line} -x{words}"


def _quoted(text: str) -> str:
    """``text`` between single quotes, for all three shells."""
    return "'" + text.replace("\\", "").replace("'", "\u2019") + "'"
