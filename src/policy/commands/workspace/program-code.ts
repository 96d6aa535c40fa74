/** Programs that an interpreter is given as text: in the command line, or on its standard input. */
import type { Decision } from '#kernel/decision';
import { askFor } from './findings.ts';
import { reachesOut } from './inline-code.ts';
import { inlineFiles } from './inline-files.ts';
import type { Invocation } from './invocation.ts';
import { judgePath } from './judge-path.ts';
import { type ShellWord, single } from './shell-word.ts';

/** What speaks against code that is a word. */
export function judgeCode(code: ShellWord | undefined, { program, offset, scope }: Invocation): readonly Decision[] {
  const text = single(code);
  const { files, rest } = inlineFiles(text ?? '');
  if (text !== undefined && !reachesOut(rest, program))
    return files.flatMap((file) => judgePath({ text: file.text, glob: false, offset: code?.offset ?? offset }, file.action, scope));
  return [
    askFor(
      'runs_other_code',
      code?.offset ?? offset,
      `code for \`${program}\` that reaches for files, processes or the network, or is not known`,
    ),
  ];
}

/** What speaks against code on standard input. */
export function judgeInput({ inputText, program, offset, scope }: Invocation): readonly Decision[] {
  const { files, rest } = inlineFiles(inputText ?? '');
  if (inputText !== undefined && !reachesOut(rest, program))
    return files.flatMap(({ text, action }) => judgePath({ text, glob: false, offset }, action, scope));
  return [askFor('runs_other_code', offset, `\`${program}\` takes its program from standard input`)];
}
