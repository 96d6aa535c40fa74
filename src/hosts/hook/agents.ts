/** One record for each coding agent: how its hook asks, how it is answered, and what the hook covers. docs/hooks.md shows it to people. */
import type { AgentCallKind } from '#kernel/agent-call';
import { splitNames } from '#kernel/text/text';

export interface HookAgent {
  readonly name: string;
  readonly title: string;
  /** Its own tools, by what they do. Of any other the arguments decide. */
  readonly tools: ReadonlyMap<string, AgentCallKind>;
  /** Names of tools of MCP servers. */
  readonly mcp: RegExp;
  /** The form of a refusal. `claude`: in `hookSpecificOutput`; `flat`: the same at the top; `gemini`: `decision`; `cursor`: `permission`. */
  readonly answer: 'claude' | 'flat' | 'gemini' | 'cursor';
  /** It takes silence for a failure, so that a yes is said as well. Everywhere else silence leaves the agent its own questions. */
  readonly saysYes?: true;
  /** It runs in a window of the editor, which answers for it while it is there. */
  readonly runsInWindow?: true;
  /** How long an answer may take, in ms: well below the agent's own limit, at which the call would run. */
  readonly deadlineMs: number;
  /** The same as its installed configuration says it to the agent, in seconds. */
  readonly limitSeconds: number;
  /** Each kind: as its documents say, or not at all. What was tried is in test/agents/results.json. */
  readonly covers: Readonly<Record<'shell' | 'edits' | 'reads' | 'fetches' | 'mcp', 'documented' | 'no'>>;
  /** What a person has to know, in Markdown. */
  readonly notes: string;
}

type Named = Partial<Record<AgentCallKind, string>>;

function tools(named: Named): HookAgent['tools'] {
  return new Map(
    Object.entries(named).flatMap(([kind, names]) => splitNames(names).map((name) => [name.toLowerCase(), kind as AgentCallKind] as const)),
  );
}

const all = { shell: 'documented', edits: 'documented', reads: 'documented', fetches: 'documented', mcp: 'documented' } as const;
const usual = { deadlineMs: 12_000, limitSeconds: 60 } as const;

const claudeTools = tools({
  shell: 'Bash PowerShell',
  write: 'Write Edit MultiEdit NotebookEdit',
  read: 'Read Glob Grep LS NotebookRead LSP',
  fetch: 'WebFetch',
  quiet: `Agent AskUserQuestion BashOutput EnterPlanMode ExitPlanMode KillBash KillShell Skill SlashCommand Task TaskCreate TaskGet TaskList
    TaskOutput TaskStop TaskUpdate TodoRead TodoWrite ToolSearch WebSearch`,
});

const geminiTools = tools({
  shell: 'run_shell_command',
  write: 'write_file replace edit',
  read: 'read_file read_many_files list_directory glob search_file_content grep_search',
  fetch: 'web_fetch',
  quiet: `activate_skill ask_user complete_task enter_plan_mode exit_plan_mode get_internal_docs google_web_search task todo_write
    tool_search web_search write_todos`,
});

const copilotTools = tools({
  shell: 'bash powershell write_bash write_powershell shell',
  write: 'create edit str_replace_editor apply_patch',
  read: 'view grep glob rg show_file',
  fetch: 'web_fetch',
  quiet: `ask_user exit_plan_mode list_agents list_bash list_powershell read_agent read_bash read_powershell report_intent skill
    stop_bash stop_powershell task update_todo web_search`,
});

const windowTools = tools({
  shell: 'run_in_terminal send_to_terminal runInTerminal create_and_run_task',
  write: `create_file createFile create_directory createDirectory edit_files replace_string_in_file replaceStringInFile multi_replace_string_in_file
    insert_edit_into_file editFiles edit_notebook_file apply_patch`,
  read: `read_file readFile list_dir listDirectory file_search fileSearch grep_search textSearch semantic_search codebase view_image
    get_errors get_changed_files read_notebook_cell_output read_project_structure test_search`,
  fetch: 'fetch_webpage fetch',
  start: `create_new_jupyter_notebook create_new_workspace install_extension run_notebook_cell run_playwright_code run_task run_vscode_command
    runTests`,
  quiet: `ask_questions copilot_getNotebookSummary execution_subagent explore_subagent get_task_output get_terminal_output get_vscode_api
    kill_terminal manage_todo_list memory resolve_memory_file_uri runSubagent search_subagent search_workspace_symbols skill switch_agent
    terminal_last_command terminal_selection testFailure todos tool_search vscode_askQuestions vscode_get_confirmation
    vscode_get_confirmation_with_options vscode_get_terminal_confirmation vscode_reviewPlan`,
});

const everywhereElse = 'WebSearch and the like ask the agent’s own provider and are only written down.';

export const hookAgents: readonly HookAgent[] = [
  {
    ...{ name: 'claude-code', title: 'Claude Code', tools: claudeTools, mcp: /^mcp__(.+?)__(.+)$/, answer: 'claude', ...usual },
    covers: all,
    notes: `From 2.1.295 on \`onFailure: "block"\`, which \`install\` writes, refuses also when the program is missing or was killed. A repository’s \`.claude/settings.json\` with \`disableAllHooks\` switches a user’s hooks off. ${everywhereElse}`,
  },
  {
    ...{ name: 'codex', title: 'Codex', answer: 'claude', mcp: /^mcp__(.+?)__(.+)$/, ...usual },
    tools: tools({
      shell: 'Bash shell shell_command local_shell exec_command unified_exec write_stdin',
      write: 'apply_patch Edit Write',
      read: 'view_image read_file list_dir grep_files',
      quiet: 'update_plan web_search request_user_input',
    }),
    covers: { ...all, reads: 'no', fetches: 'no' },
    notes:
      'It reads with its shell. A user’s hook counts only once it was reviewed in `/hooks`; `codex exec` skips one that was not, in silence. `ask` and a bare `allow` are errors there and the call runs: Banksman never answers so. `.codex/config.toml` of a trusted project switches a user’s hooks off.',
  },
  {
    ...{ name: 'copilot', title: 'Copilot CLI', tools: copilotTools, mcp: /^([^-]+(?:-[^-]+)*)-([^-]+)$/, answer: 'flat' },
    ...{ deadlineMs: 10_000, limitSeconds: 30 },
    covers: all,
    notes:
      'A time-out runs the call; a crash refuses it. A repository’s `.github/copilot/settings.json` switches a user’s hooks off once its folder is trusted.',
  },
  {
    ...{ name: 'gemini', title: 'Gemini CLI', tools: geminiTools, mcp: /^mcp_(.+?)_(.+)$/, answer: 'gemini', ...usual },
    covers: all,
    notes:
      '`hooksConfig.enabled: false` in a repository’s `.gemini/settings.json` switches a user’s hooks off. What the fetch reads is taken from the addresses in its prompt.',
  },
  {
    ...{ name: 'qwen', title: 'Qwen Code', tools: geminiTools, mcp: /^mcp__(.+?)__(.+)$/, answer: 'claude', ...usual },
    covers: all,
    notes: 'As Gemini CLI, with Claude Code’s form. A repository’s `.qwen/settings.json` switches a user’s hooks off.',
  },
  {
    ...{ name: 'opencode', title: 'opencode', mcp: /^([a-z0-9-]+)_(.+)$/i, answer: 'gemini', ...usual },
    tools: tools({
      shell: 'bash',
      write: 'edit write patch apply_patch multiedit',
      read: 'read grep glob list lsp',
      fetch: 'webfetch',
      quiet: 'codesearch plan_enter plan_exit question skill task todoread todowrite websearch',
    }),
    covers: all,
    notes:
      'It has no hooks but plugins: `install` writes one that asks, and refuses when it gets no answer. A plugin that cannot be read is skipped in silence. Below `/etc` it reads only what `/etc/opencode/opencode.json` names, which `--managed` writes with the plugin.',
  },
  {
    ...{ name: 'cursor', title: 'Cursor', mcp: /^MCP:()(.+)$/i, answer: 'cursor', saysYes: true, ...usual },
    tools: tools({
      shell: 'Shell',
      write: 'Write Edit StrReplace Delete ApplyPatch EditNotebook',
      read: 'Read Grep Glob LS SemanticSearch',
      fetch: 'WebFetch Fetch',
      quiet: 'AskQuestion SwitchMode Task TodoWrite UpdateCurrentStep WebSearch',
    }),
    covers: all,
    notes:
      'Not tried with Cursor itself, which needs an account: `test/integration/cli/cursor-hook.test.ts` holds to the JSON of its published events (`preToolUse`, `beforeShellExecution`, `beforeMCPExecution`, `beforeReadFile`). `install` puts in `preToolUse` with `failClosed`, with which Cursor refuses when the hook fails. Not seen: completions, and edits by inline commands.',
  },
  {
    ...{ name: 'vscode', title: 'VS Code, local agents', mcp: /^mcp_([^_]+)_(.+)$/, answer: 'claude', runsInWindow: true },
    ...{ deadlineMs: 10_000, limitSeconds: 30 },
    // Copilot CLI reads the same files.
    tools: new Map([...copilotTools, ...windowTools]),
    covers: all,
    notes:
      'The agent that runs in the window itself; other chats use the hooks of the agent behind them. The window answers with its own settings. A crash, a time-out and output that is no JSON let the call run, so the installed line ends with 2. It takes no file below `/etc`. A folder that is trusted switches a user’s hook off with `chat.useHooks` or `chat.hookFilesLocations` in `.vscode/settings.json`; *Doctor* says so; in a folder that nobody has trusted VS Code asks no hook at all. A tool that another extension brings is judged by its arguments, whatever its name; in the window only Banksman’s own tools are left to Banksman’s extension, and without the window none is. Not seen: what other extensions do without that agent, or in a tool whose arguments do not tell (its call is written down), completions, and edits by inline chat; what a terminal’s own start-up files run; a task or notebook cell, once a person let it start.',
  },
];

export function hookAgent(name: string): HookAgent | undefined {
  return hookAgents.find((agent) => agent.name === name);
}
