import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const README = `# Banksman demo workspace

The chat on the right talks to a **scripted demo model**: a program on this machine that knows a few phrases,
no AI and no account. The cluster is an emulator on this machine, too. Everything between them is the real thing.

Type into the chat:

| phrase | what happens |
|---|---|
| \`cluster status\` | a green tool: it runs |
| \`list vms\` | a green tool: it runs |
| \`uptime on pve\` | a yellow tool: it runs and is written down |
| \`stop vm 100\` | a red tool: a dialog asks you; *Approve once* lets this one call through |
| \`stop vm 103\` | a protected guest: refused, nobody is asked |
| \`reboot pve\` | forbidden: refused, whoever asks |

Then look at the Banksman view in the activity bar, and at the output channel *Banksman* for the trail.
`;

/** A small folder to open; what a person changed in it stays. */
export function prepareSampleWorkspace(folder: string): void {
  mkdirSync(folder, { recursive: true });
  const readme = path.join(folder, 'README.md');
  if (!existsSync(readme)) writeFileSync(readme, README);
}
