/**
 * What people read in the editor is in their language: every text of `src/hosts/vscode` goes through `t`, and `media/l10n` has each of them, of the
 * manifest, too, with the same places for values; nothing is left over. `--missing` writes those that are missing as JSON, to be translated.
 */
import { readBundle, textFaults } from './l10n/translations.ts';

const faults = textFaults(readBundle());
for (const fault of faults) process.stderr.write(`${fault}\n`);
if (faults.length > 0) process.stderr.write(`\ntexts: ${faults.length} faults (CONTRIBUTING.md says how texts are translated)\n`);
process.exitCode = faults.length > 0 ? 1 : 0;
