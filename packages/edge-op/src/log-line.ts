/** **A line that a Worker or the runtime has written.** */
export interface LogLine {
  readonly level: string;
  readonly message: string;
}
