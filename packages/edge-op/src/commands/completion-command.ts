import { type Command, commonOptions } from "../console/command.ts";
import { usageFailure } from "../console/failure.ts";
import { splitCommon } from "../console/parse-options.ts";

/**
 * **`edge-op completion`**: a script for a shell, which asks `edge-op complete` for the words that can follow. So one list serves all shells, and is
 * always that of the installed release.
 */
const scripts: Readonly<Record<string, string>> = {
  bash: `_edge_op() {
  local IFS=$'\\n'
  COMPREPLY=($(compgen -W "$(edge-op complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _edge_op edge-op
`,
  zsh: `#compdef edge-op
_edge_op() {
  local -a found
  found=(\${(f)"$(edge-op complete "\${(@)words[2,CURRENT]}" 2>/dev/null)"})
  (( \${#found} )) && compadd -- $found || _files
}
compdef _edge_op edge-op
`,
  fish: `complete -c edge-op -f -a '(edge-op complete (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
`,
};

export function completionCommands(others: readonly Command[]): Command[] {
  const completion: Command = {
    words: ["completion"],
    summary: "Prints the completion script of a shell.",
    arguments: [{ name: "shell", description: "bash, zsh or fish." }],
    examples: [
      'eval "$(edge-op completion bash)"',
      'eval "$(edge-op completion zsh)"',
      "edge-op completion fish > ~/.config/fish/completions/edge-op.fish",
    ],
    async run({ terminal, arguments: { shell = "" } }) {
      const script = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined;
      if (script === undefined) throw usageFailure(`There is none for "${shell}": bash, zsh or fish.`);
      await terminal.write(script);
    },
  };
  return [...others, completion];
}

/** The words that can stand in place of the last one. */
export function completionsOf(commands: readonly Command[], words: readonly string[]): string[] {
  const given = splitCommon(words.slice(0, -1)).rest.filter((word) => !word.startsWith("-"));
  const last = words.at(-1) ?? "";
  const next = commands.flatMap(({ words: own }) =>
    own.length > given.length && given.every((word, index) => own[index] === word) ? [own[given.length]!] : [],
  );
  const command = commands.findLast(({ words: own }) => own.every((word, index) => given[index] === word));
  const options = command === undefined ? [] : [...(command.options ?? []), ...commonOptions];
  const choices = options.find(({ name }) => `--${name}` === words.at(-2))?.choices;
  if (choices !== undefined) return choices.filter((choice) => choice.startsWith(last));
  const names = options.flatMap(({ name, negatable }) => [`--${name}`, ...(negatable ? [`--no-${name}`] : [])]);
  const fitting = last.startsWith("-") ? names : next;
  return [...new Set(fitting)].filter((word) => word.startsWith(last)).toSorted();
}
