// A fake of the part of IndexedDB that the client uses. It can fail in the ways in which browsers
// fail.

export class FakeIndexedDB {
  databases = new Map();
  versions = new Map();
  connections = new Set();
  /** Faults that a test sets: all writes fail, no connection opens, all deletions fail. */
  isFull = false;
  isBroken = false;
  isLocked = false;
  /** Whether transactions and openings get no event. */
  isSilent = false;
  /** The promise that a transaction of a mode or a deletion waits for, as beside other tabs. */
  busy = () => null;
  /** The promise that a commit waits for, when its transaction can no longer be aborted. */
  committing = () => null;

  open(name, version) {
    if (this.isSilent) return {};
    return ask(request => {
      if (this.isBroken) throw new DOMException('Connection to Indexed Database server lost.', 'UnknownError');
      const oldVersion = this.versions.get(name) ?? 0;
      if (version < oldVersion) throw new DOMException('The database has a higher version.', 'VersionError');
      if (version > oldVersion) this.#change(name);
      request.result = new Connection(this, name);
      if (version === oldVersion) return;
      this.versions.set(name, version);
      if (!this.databases.has(name)) this.databases.set(name, new Map());
      request.onupgradeneeded?.({oldVersion});
    });
  }

  /** Asks all connections of a database to close. */
  #change(name) {
    for (const connection of this.connections) if (connection.name === name) connection.onversionchange?.();
  }

  deleteDatabase(name) {
    return ask(() => {
      if (this.isLocked) throw new DOMException('It cannot be deleted.', 'UnknownError');
      this.#change(name);
      this.databases.delete(name);
      this.versions.delete(name);
    }, undefined, this.busy('readwrite'));
  }

  /** Closes all connections without an event, as browsers do with pages in the background. */
  closeAll() {
    for (const connection of this.connections) connection.close();
  }

  /** Deletes everything as a browser does at the user's request: transactions get no event. */
  clear() {
    this.databases.clear();
    this.versions.clear();
    for (const connection of [...this.connections]) {
      connection.close();
      connection.dispatchEvent(new Event('close'));
    }
  }
}

/** A request whose result arrives later. */
function ask(answer, isDone = () => {}, busy = null) {
  const request = {};
  Promise.resolve(busy).then(() => {
    try {
      answer(request);
    } catch (error) {
      request.error = error;
      return request.onerror?.({target: request});
    }
    request.onsuccess?.({target: request});
    isDone();
  });
  return request;
}

class Connection extends EventTarget {
  isClosed = false;

  constructor(databases, name) {
    super();
    Object.assign(this, {databases, name});
    databases.connections.add(this);
  }

  createObjectStore() {}

  close() {
    this.isClosed = true;
    this.databases.connections.delete(this);
  }

  transaction(_, mode) {
    if (this.isClosed) throw new DOMException('The database connection is closing.', 'InvalidStateError');
    const {databases, name} = this, rows = new Map(databases.databases.get(name)), transaction = {error: null};
    let waiting = 0, isAborted = false, isCommitting = false;
    transaction.abort = () => {
      if (isCommitting) throw new DOMException('The transaction is finished.', 'InvalidStateError');
      isAborted = true;
    };
    const request = answer => {
      if (databases.isSilent) return {};
      waiting += 1;
      return ask(one => { one.result = answer(); }, () => {
        waiting -= 1;
        if (waiting > 0 || isAborted) return;
        isCommitting = true;
        const slow = databases.committing(mode), end = () => {
          databases.databases.set(name, rows);
          transaction.oncomplete?.();
        };
        if (slow) slow.then(end); else end();
      }, databases.busy(mode));
    };
    const names = ({lower, upper}) => [...rows.keys()].filter(name => name >= lower && name <= upper).sort();
    transaction.objectStore = () => ({
      get: name => request(() => rows.get(name)),
      getAllKeys: range => request(() => names(range)),
      getAll: range => request(() => names(range).map(name => rows.get(name))),
      delete: name => request(() => { rows.delete(name); }),
      put: (value, name) => request(() => {
        if (!databases.isFull) return rows.set(name, value);
        isAborted = true;
        transaction.error = new DOMException('', 'QuotaExceededError');
        queueMicrotask(() => transaction.onabort?.());
      }),
    });
    return transaction;
  }
}
