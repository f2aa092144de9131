import { Console } from "node:console";
import { appendFileSync, mkdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { Writable } from "node:stream";
import { DefaultReporter, type TestModule, type TestSpecification, type Vitest } from "vitest/node";

const outputPath = "test-output/output.log";
const shownLines = 200;

/**
 * **Vitest's reporter for `npm test`: one line for each file, and what failed in full.** Tests provoke errors on purpose, and Workers log them: what
 * Workers, providers and processes of tests write goes to `test-output/output.log`. If a file fails, the end of what was written while it ran is
 * shown. If only one file runs, each of its tests has a line.
 */
export default class FileReporter extends DefaultReporter {
  readonly #output: string[] = [];
  readonly #startedAt = new Map<string, number>();

  constructor() {
    super({ summary: false });
  }

  override onInit(vitest: Vitest): void {
    const show = process.stdout.write.bind(process.stdout);
    const shown = new Writable({
      decodeStrings: false,
      write: (text: string, _, done) => void show(text, () => done()),
    });
    vitest.logger.console = new Console(shown);
    this.#takeOutput(join(vitest.config.root, outputPath));
    super.onInit(vitest);
  }

  /** Runtimes, and the processes in which tests run, write to the streams of this process. */
  #takeOutput(path: string): void {
    mkdirSync(dirname(path), { recursive: true });
    rmSync(path, { force: true });
    const take = (chunk: Uint8Array | string, ...rest: readonly unknown[]) => {
      const text = typeof chunk === "string" ? chunk : Buffer.from(chunk).toString();
      this.#output.push(text);
      appendFileSync(path, text);
      for (const done of rest) if (typeof done === "function") done();
      return true;
    };
    for (const stream of [process.stdout, process.stderr]) stream.write = take;
  }

  override onTestRunStart(files: readonly TestSpecification[]): void {
    super.onTestRunStart(files);
    this.renderSucceed = files.length === 1;
  }

  override onTestModuleQueued(file: TestModule): void {
    this.#startedAt.set(file.id, this.#output.length);
  }

  override onTestModuleEnd(file: TestModule): void {
    super.onTestModuleEnd(file);
    if (file.state() !== "failed") return;
    const output = this.#output.slice(this.#startedAt.get(file.id)).join("").trimEnd();
    if (output === "") return;
    this.log(`\nThe end of what was written while ${file.relativeModuleId} ran (everything is in ${outputPath}):`);
    this.log(`${output.split("\n").slice(-shownLines).join("\n")}\n`);
  }

  /** If several files run, only tests that did not pass have a line. */
  protected override printTestCase(...[state, test]: Parameters<DefaultReporter["printTestCase"]>): void {
    if (this.renderSucceed || test.result().state !== "passed") super.printTestCase(state, test);
  }

  override onUserConsoleLog(...[log, state]: Parameters<DefaultReporter["onUserConsoleLog"]>): void {
    if (!this.shouldLog(log, state)) return;
    const task = this.ctx.state.idMap.get(log.taskId ?? "");
    this.log(`${log.type} of ${task === undefined ? "a test" : this.getFullName(task, " > ")}:\n${log.content}`);
  }
}
