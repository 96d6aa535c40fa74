/** The texts of this project in German, for the page: a file of its own (`dist/german.cjs`), read with the first German reader. */
import texts from '../../../media/l10n/bundle.l10n.de.json' with { type: 'json' };

export { texts };
