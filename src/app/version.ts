/** The version that bundling writes in; in the sources it is `0.0.0-source`. */
declare const BANKSMAN_VERSION: string | undefined;

export const version: string = typeof BANKSMAN_VERSION === 'string' ? BANKSMAN_VERSION : '0.0.0-source';
