import { spawn } from "node:child_process";
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { usageFailure } from "./failure.ts";

/** **What a command reads and writes**: the streams of the process, or those of a test. */
export interface Terminal {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Whether a person reads the output and can answer. */
  readonly isInteractive: boolean;
  /** The width of the screen in characters; `undefined` if the output is not a screen. */
  readonly columns: number | undefined;
  /** Writes a result. Waits while the reader is slower. */
  write(output: string): Promise<void>;
  /** Writes progress, questions and errors. */
  note(output: string): void;
  /** The standard input, to its end. */
  readInput(): Promise<string>;
  /** The answer of a person. */
  ask(question: string): Promise<string>;
  /** The same, without showing it. */
  askSecret(question: string): Promise<string>;
  openBrowser(url: string): void;
}

/** The terminal of this process. Output that nobody reads any longer (`| head`) ends the process, like that of other commands. */
export function processTerminal(): Terminal {
  const { stdin, stdout, stderr } = process;
  stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1));
  const askPerson = async (question: string, output: Writable): Promise<string> => {
    if (!isInteractive) throw usageFailure("Nobody can answer here: give the value as an option.");
    const lines = createInterface({ input: stdin, output, terminal: true });
    try {
      return await lines.question(question);
    } finally {
      lines.close();
    }
  };
  const isInteractive = stdin.isTTY === true && stderr.isTTY === true;
  return {
    environment: process.env,
    isInteractive,
    columns: stdout.isTTY ? stdout.columns : undefined,
    write: (output) =>
      new Promise((resolve) => {
        stdout.write(output, () => resolve());
      }),
    note: (output) => void stderr.write(output),
    readInput: () => {
      if (stdin.isTTY) stderr.write("Reading the standard input; Ctrl-D ends it.\n");
      return text(stdin);
    },
    ask: (question) => askPerson(question, stderr),
    askSecret: async (question) => {
      stderr.write(question);
      const answer = await askPerson("", new Writable({ write: (_chunk, _encoding, done) => done() }));
      stderr.write("\n");
      return answer;
    },
    openBrowser,
  };
}

/** Without a browser nothing happens: the person has the URL. */
function openBrowser(url: string): void {
  const [program, ...words] = { darwin: ["open"], win32: ["rundll32", "url.dll,FileProtocolHandler"] }[
    process.platform as string
  ] ?? ["xdg-open"];
  const child = spawn(program!, [...words, url], { stdio: "ignore", detached: true });
  child.on("error", () => undefined);
  child.unref();
}
