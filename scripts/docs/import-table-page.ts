/** The import table as Markdown, between two markers of a page. */
import { builtinGroups, type FileException, type FolderRule } from '../architecture/table.ts';

const begin = '<!-- imports:begin -->';
const end = '<!-- imports:end -->';

/** The page with the part between the markers rewritten. @throws {Error} when a marker is missing */
export function withImportTable(page: string, folders: readonly FolderRule[], exceptions: readonly FileException[]): string {
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`the page must hold \`${begin}\` and after it \`${end}\``);
  return `${page.slice(0, from)}${begin}\n${importTable(folders)}\n\n${groupList()}\n\n${exceptionList(exceptions)}\n${page.slice(to)}`;
}

function importTable(folders: readonly FolderRule[]): string {
  const rows = folders.map(({ folder, folders: others, packages, builtins }) => [
    `\`${folder}\``,
    others.join(', '),
    packages.join(', '),
    shortened(builtins).join(', '),
  ]);
  return [['folder', 'folders', 'packages', 'built-in modules'], ['---', '---', '---', '---'], ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
}

function exceptionList(exceptions: readonly FileException[]): string {
  const lines = exceptions.map(
    ({ file, builtins = [], folders = [], why }) => `- \`${file}\` may also import ${[...folders, ...builtins].join(', ')}: ${why}.`,
  );
  return lines.join('\n');
}

/** Whole groups by their names, the rest as they are. */
function shortened(builtins: readonly string[]): readonly string[] {
  const groups = Object.entries(builtinGroups).filter(([, members]) => members.every((member) => builtins.includes(member)));
  const covered = groups.flatMap(([, members]) => members);
  return [...groups.map(([name]) => `*${name}*`), ...builtins.filter((name) => !covered.includes(name))];
}

function groupList(): string {
  return Object.entries(builtinGroups)
    .map(([name, members]) => `- *${name}*: ${members.join(', ')}`)
    .join('\n');
}
