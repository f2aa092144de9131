import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { type CallToolResult, Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import type { Stage } from "./stage.ts";

/** A running client. */
export interface Session {
  /** The text of the tool's result; throws the client's error. */
  call(tool: string, given?: Readonly<Record<string, unknown>>): Promise<string>;
  stop(): Promise<void>;
}

/** The output of a program. */
interface Said {
  readonly text: string;
  /** The expiry of its current access token, by the clock that it was given. */
  readonly expiresAtMs?: number;
}

/** A program that reads calls and prints results, one JSON object a line. */
export class ProgramSession implements Session {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  constructor(command: string, words: readonly string[], env: NodeJS.ProcessEnv) {
    const child = spawn(command, words, {
      env,
      stdio: ["pipe", "pipe", process.env["VERBOSE"] ? "inherit" : "ignore"],
    });
    this.#child = child;
    this.#lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  }

  async call(tool: string, given: Readonly<Record<string, unknown>> = {}): Promise<string> {
    return (await this.send({ tool, given })).text;
  }

  async send(wanted: Readonly<Record<string, unknown>>): Promise<Said> {
    this.#child.stdin?.write(`${JSON.stringify(wanted)}\n`);
    const { value } = await this.#lines.next();
    if (value === undefined) throw new Error("the program ended");
    const said = JSON.parse(value) as Said & { readonly error?: string };
    if (said.error !== undefined) throw new Error(said.error);
    return said;
  }

  stop(): Promise<void> {
    this.#child.kill();
    return Promise.resolve();
  }
}

/** A bridge to a local client, which speaks to it over its standard input and output. */
export class BridgeSession implements Session {
  readonly #client: Client;

  private constructor(client: Client) {
    this.#client = client;
  }

  static async start(command: string, words: readonly string[], env: Record<string, string>): Promise<BridgeSession> {
    const client = new Client({ name: "host", version: "1.0.0" });
    const stderr = process.env["VERBOSE"] ? "inherit" : "ignore";
    await client.connect(new StdioClientTransport({ command, args: [...words], env, stderr }));
    return new BridgeSession(client);
  }

  async call(tool: string, given: Readonly<Record<string, unknown>> = {}): Promise<string> {
    return textOf(await this.#client.callTool({ name: tool, arguments: { ...given } }, { timeout: 30_000 }));
  }

  stop(): Promise<void> {
    return this.#client.close();
  }
}

/** A command that makes one call and keeps its tokens in its home directory. */
export class CommandSession implements Session {
  readonly #command: string;
  readonly #words: (tool: string) => readonly string[];
  readonly #env: NodeJS.ProcessEnv;

  constructor(command: string, words: (tool: string) => readonly string[], env: NodeJS.ProcessEnv) {
    this.#command = command;
    this.#words = words;
    this.#env = env;
  }

  async call(tool: string): Promise<string> {
    try {
      const { stdout } = await promisify(execFile)(this.#command, this.#words(tool), {
        env: this.#env,
        timeout: 60_000,
      });
      const { result } = JSON.parse(stdout) as { readonly result: CallToolResult };
      return textOf(result);
    } catch (error) {
      const { stderr, stdout } = error as { readonly stderr?: string; readonly stdout?: string };
      throw new Error(`${stdout ?? ""}${stderr ?? String(error)}`.trim());
    }
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }
}

function textOf(result: CallToolResult): string {
  const text = result.content.flatMap((item) => (item.type === "text" ? [item.text] : [])).join("\n");
  if (result.isError === true) throw new Error(text);
  return text;
}

/** A home directory of its own: nothing is left on the machine, and nothing is found there. */
export function ownHome(stage: Stage): Record<string, string> {
  const home = mkdtempSync(stage.folder.file("home-"));
  return { ...stage.environment, HOME: home, XDG_CONFIG_HOME: join(home, ".config") };
}
