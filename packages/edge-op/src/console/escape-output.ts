import { printable } from "./show.ts";
import type { Terminal } from "./terminal.ts";

/**
 * **Everything that is written to a terminal passes here**, so that no command has to remember which of its texts are those of a provider, a file or
 * an environment: a control would move the cursor, hide lines or type for the person. Line ends stay, and the carriage return that begins a line of
 * progress. JSON stays the same JSON.
 */
export function escapeOutput(text: string): string {
  const start = text.startsWith("\r") ? "\r" : "";
  return start + text.slice(start.length).split("\n").map(printable).join("\n");
}

/** The same terminal, whose output is escaped. */
export function escaping(terminal: Terminal): Terminal {
  return {
    ...terminal,
    write: (output) => terminal.write(escapeOutput(output)),
    note: (output) => terminal.note(escapeOutput(output)),
    ask: (question) => terminal.ask(escapeOutput(question)),
    askSecret: (question) => terminal.askSecret(escapeOutput(question)),
  };
}

/** The streams of this process, for programs that write to the console; also an error that nobody catches. */
export function escapeStreams(): void {
  for (const stream of [process.stdout, process.stderr]) {
    const write = stream.write.bind(stream) as (text: string, ...rest: unknown[]) => boolean;
    stream.write = (chunk: Uint8Array | string, ...rest: unknown[]) =>
      write(escapeOutput(typeof chunk === "string" ? chunk : Buffer.from(chunk).toString()), ...rest);
  }
  process.on("uncaughtException", (error) => {
    console.error(error);
    process.exit(1);
  });
}
