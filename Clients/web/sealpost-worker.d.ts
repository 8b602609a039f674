import type {NotificationItem, OpenOptions, Token} from './sealpost.js';

/** The content of a shown notification: its title, by default the page's, and options of `showNotification`. */
export interface ShownNotification extends NotificationOptions {
  title?: string;
}

/** The settings of the page that opened the account last. */
export interface PageSettings {
  title: string;
  icon: string | null;
  placeholder: string;
  page: string | null;
}

/** The content of notifications; an app's worker may replace each function. */
export const texts: {
  /** A payload that could be fetched. A read-once payload is missing in the item. */
  arrived(item: NotificationItem, settings: PageSettings): ShownNotification;
  /** The payload could not be fetched, or the answer was not the server's own. */
  unknown(settings: PageSettings): ShownNotification;
  /** The notification was recalled or dismissed, or has expired. */
  gone(settings: PageSettings): ShownNotification;
};

/** Options of the worker's clients, which a page cannot store. */
export const options: Pick<OpenOptions, 'observe' | 'headers' | 'verifier'> & {
  /** The time limit for a push, in seconds. Browsers stop a worker after about thirty. */
  deadline: number;
  /** The source of tokens; a URL that the page has stored comes first. */
  token?: (whose: {account: string | null; name: string}) => Token | string | null | Promise<Token | string | null>;
};
