/** The only way to a notification or a passing word in the status bar: nothing in either is a link or an icon that outside text made. */
import { window } from 'vscode';
import { plainNotice, plainStatus } from './markdown.ts';

const statusMs = 6_000;

export const notify = {
  info: (message: string, ...buttons: readonly string[]) => window.showInformationMessage(plainNotice(message), ...buttons),
  warning: (message: string, ...buttons: readonly string[]) => window.showWarningMessage(plainNotice(message), ...buttons),
  error: (message: string, ...buttons: readonly string[]) => window.showErrorMessage(plainNotice(message), ...buttons),
  status: (message: string) => void window.setStatusBarMessage(plainStatus(message), statusMs),
};
