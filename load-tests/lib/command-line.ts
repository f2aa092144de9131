import { type ParseArgsConfig, parseArgs } from "node:util";

type Options = NonNullable<ParseArgsConfig["options"]>;

/** **Reads the arguments of a command.** `--help` prints the usage, as does, with an error, an unknown option. */
export function readCommandLine<Own extends Options>(usage: string, options: Own) {
  try {
    const help = { help: { type: "boolean", default: false } } as const;
    if (parseArgs({ allowPositionals: true, strict: false, options: help }).values.help === true) {
      console.log(usage);
      process.exit(0);
    }
    return parseArgs({ allowPositionals: true, options });
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
    process.exit(2);
  }
}
