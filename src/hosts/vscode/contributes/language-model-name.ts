/** The name of a tool on the editor's surface; prefixed, since the editor has a `read_file` of its own and resolves by first match. */
export function languageModelName(tool: string): string {
  return `banksman_${tool}`;
}
