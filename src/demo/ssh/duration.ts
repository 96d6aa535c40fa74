/** Durations as coreutils write them: `90`, `1.5`, `2m`. @returns seconds, or undefined for what is none */
export function durationSeconds(text: string): number | undefined {
  const [, digits, unit = 's'] = /^(\d+(?:\.\d+)?)([smhd])?$/.exec(text) ?? [];
  if (digits === undefined) return undefined;
  return Number(digits) * ({ s: 1, m: 60, h: 3600, d: 86_400 }[unit] ?? 1);
}
