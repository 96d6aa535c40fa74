/** The workspace tools, in the order they are listed. */
import type { Tool } from '#kernel/tool';
import { agentTools } from '../support/agent-tools.ts';
import { applyHeld } from './apply-held.ts';
import { editFile } from './edit-file.ts';
import { listDirectory } from './list-directory.ts';
import { readFile } from './read-file.ts';
import { runCommand } from './run-command.ts';
import { searchFiles } from './search-files.ts';
import { undoRun } from './undo-run.ts';
import { writeFile } from './write-file.ts';

export const workspaceTools: readonly Tool[] = [readFile, listDirectory, searchFiles, writeFile, editFile, runCommand, undoRun];

/** In no list (`ToolDefinition.internal`). */
export const internalTools: readonly Tool[] = [applyHeld, ...agentTools];
