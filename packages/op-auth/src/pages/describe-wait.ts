/** **A time to wait for display**: in seconds or, for two minutes and more, in minutes. */
export function describeWait(language: string, seconds: number): string {
  const [amount, unit] = seconds < 120 ? [seconds, "second"] : [Math.ceil(seconds / 60), "minute"];
  return new Intl.NumberFormat([language], { style: "unit", unit, unitDisplay: "long" }).format(amount);
}
