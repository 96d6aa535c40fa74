/** Links that put this server into an editor with one click, and where pages show them. */
import { mcpClients, type ServerCommand, serverName } from '#app/clients/mcp-clients';

/** The installed program: a link cannot know where a clone lies. */
const server: ServerCommand = { command: 'banksman', args: ['mcp'] };

export interface InstallLink {
  readonly editor: string;
  /** What the editor itself registers with the system. */
  readonly address: string;
  /** The same for pages whose host lets no other scheme through: the editor's maker sends it on to `address`. */
  readonly link: string;
}

function entryOf(client: string): object {
  const found = mcpClients.find(({ id }) => id === client);
  if (found === undefined) throw new Error(`no client is named ${client}`);
  return found.entry(server);
}

function vscodeLink(editor: string, scheme: string, site: string): InstallLink {
  const entry = entryOf('vscode');
  const query = new URLSearchParams({ name: serverName, config: JSON.stringify(entry) });
  return {
    editor,
    address: `${scheme}:mcp/install?${encodeURIComponent(JSON.stringify({ name: serverName, ...entry }))}`,
    link: `https://${site}/redirect/mcp/install?${query.toString()}${scheme === 'vscode' ? '' : '&quality=insiders'}`,
  };
}

function cursorLink(): InstallLink {
  const query = new URLSearchParams({ name: serverName, config: Buffer.from(JSON.stringify(entryOf('cursor'))).toString('base64') });
  return {
    editor: 'Cursor',
    address: `cursor://anysphere.cursor-deeplink/mcp/install?${query.toString()}`,
    link: `https://cursor.com/install-mcp?${query.toString()}`,
  };
}

const links: readonly InstallLink[] = [
  vscodeLink('VS Code', 'vscode', 'vscode.dev'),
  vscodeLink('VS Code Insiders', 'vscode-insiders', 'insiders.vscode.dev'),
  cursorLink(),
];

const begin = '<!-- install:begin -->';
const end = '<!-- install:end -->';

/** @throws where the page has no place for them */
export function withInstallLinks(page: string, addresses: boolean): string {
  const [before, rest] = page.split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error(`the page has no \`${begin}\` with its end`);
  const named = links.map(({ editor, link }) => `[${editor}](${link})`).join(' · ');
  const shown = addresses
    ? `${named}\n\n| editor | the address behind it |\n| --- | --- |\n${links.map(({ editor, address }) => `| ${editor} | \`${address}\` |`).join('\n')}`
    : named;
  return `${before}${begin}\n${shown}\n${end}${after}`;
}
