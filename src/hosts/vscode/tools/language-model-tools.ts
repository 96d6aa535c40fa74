/** The catalog as language-model tools of the editor. */
import {
  type CancellationToken,
  type Disposable,
  LanguageModelTextPart,
  type LanguageModelTool,
  type LanguageModelToolInvocationOptions,
  LanguageModelToolResult,
  lm,
  MarkdownString,
  type PreparedToolInvocation,
} from 'vscode';
import { showPlainly } from '#kernel/text';
import type { ToolDescription } from '#kernel/tool';
import { chatCaller } from '../caller.ts';
import { languageModelName } from '../contributes/language-model-name.ts';
import { escapeMarkdown } from '../markdown.ts';
import { abortOnCancel } from './abort-on-cancel.ts';
import { resultText } from './result-text.ts';
import { runTool, type ToolRunner } from './run-tool.ts';

/** Registers every tool of the catalog under its prefixed name. */
export function registerLanguageModelTools(tools: readonly ToolDescription[], runner: ToolRunner): Disposable[] {
  return tools.map((tool) => lm.registerTool(languageModelName(tool.name), languageModelTool(tool, runner)));
}

function languageModelTool(tool: ToolDescription, runner: ToolRunner): LanguageModelTool<unknown> {
  return {
    prepareInvocation: ({ input }) => prepare(tool, input, runner),
    invoke: (options, token) => invoke(tool, options, { runner, token }),
  };
}

/**
 * Says what is about to happen. The card is a courtesy, not the gate: four kinds of bypass skip it (docs/adr/0006-modal-gate.md), so nothing
 * here decides anything. A call that our own dialog will ask about gets none, nor does a forbidden one: a card before a dialog only teaches
 * people to press Allow.
 */
async function prepare(tool: ToolDescription, input: unknown, runner: ToolRunner): Promise<PreparedToolInvocation> {
  const said = await runner.session.use((app) => Promise.resolve(app.announce(tool.name, input))).catch(() => undefined);
  const title = showPlainly(said?.title ?? tool.title, 200);
  const invocationMessage = new MarkdownString(escapeMarkdown(title));
  if (tool.tier !== 'yellow' || !said) return { invocationMessage };
  // The editor shows a card for these whatever we say: it cannot know that this call will ask.
  const next = said.asks
    ? 'Allowing it here only passes it on: Banksman then asks you in a dialog of its own, with the facts.'
    : 'Banksman checks it against your policy and writes it down before it runs.';
  return { invocationMessage, confirmationMessages: { title: withQuestionMark(title), message: new MarkdownString(next) } };
}

function withQuestionMark(title: string): string {
  return title.endsWith('?') ? title : `${title}?`;
}

/** Refusals are returned, not thrown: the editor adds “check your input and try again” to whatever is thrown. */
async function invoke(
  tool: ToolDescription,
  options: LanguageModelToolInvocationOptions<unknown>,
  { runner, token }: { readonly runner: ToolRunner; readonly token: CancellationToken },
): Promise<LanguageModelToolResult> {
  const outcome = await runTool(runner, {
    tool,
    input: options.input,
    agent: (tier) => chatCaller(options.toolInvocationToken, tier),
    call: abortOnCancel(token),
  });
  const { summary, json } = resultText(outcome);
  // Text only: JSON data parts never reach the model.
  return new LanguageModelToolResult([new LanguageModelTextPart(summary), new LanguageModelTextPart(json)]);
}
