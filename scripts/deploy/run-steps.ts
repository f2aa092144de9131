export interface DeployStep {
  readonly title: string;
  /** Lines to show below the title. */
  run(): Promise<readonly string[] | undefined>;
}

/** **Runs the steps in order.** A step that fails ends the run; every step can be repeated, so running again continues. */
export async function runDeploySteps(steps: readonly DeployStep[]): Promise<void> {
  for (const { title, run } of steps) {
    const startedAt = performance.now();
    try {
      const lines = (await run()) ?? [];
      console.log(`✓ ${title} (${((performance.now() - startedAt) / 1000).toFixed(1)} s)`);
      for (const line of lines) console.log(`  ${line}`);
    } catch (error) {
      console.error(`✗ ${title}: ${error instanceof Error ? error.message : String(error)}`);
      throw new StepFailure(title, error);
    }
  }
}

export class StepFailure extends Error {
  override readonly name = "StepFailure";

  constructor(title: string, cause: unknown) {
    super(
      `The step "${title}" failed. The steps before it are done. Fix the cause and run the same command: it continues there.`,
      {
        cause,
      },
    );
  }
}
