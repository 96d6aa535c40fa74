/** Things to release, in one place. */

export interface Disposable {
  dispose(): unknown;
}

export interface DisposableBag extends Disposable {
  /** Keeps `item` until the bag is disposed; disposes it at once when that has happened already. */
  add<T extends Disposable>(item: T): T;
}

/** Disposes last in, first out; one that throws does not keep the others. */
export function createDisposableBag(onError: (error: unknown) => void = () => undefined): DisposableBag {
  const items: Disposable[] = [];
  let disposed = false;
  const release = (item: Disposable) => {
    try {
      item.dispose();
    } catch (error) {
      onError(error);
    }
  };
  return {
    add(item) {
      // A listener that arrives late (its registration was awaited) must not outlive the window's session.
      if (disposed) release(item);
      else items.push(item);
      return item;
    },
    dispose() {
      disposed = true;
      for (const item of items.splice(0).reverse()) release(item);
    },
  };
}
