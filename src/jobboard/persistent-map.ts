const bits = 5
const mask = 31
const maxShift = 30

type Leaf<V> = { key: string; value: V }
/** `slots` has up to 32 places by five bits of the hash; below the last level keys with equal hashes share a list. */
type Node<V> = { slots: (Node<V> | Leaf<V> | Leaf<V>[] | undefined)[] }

/**
 * A map that never changes: `set` and `delete` return another one, which shares almost all with the first. Each costs a few
 * small arrays, however many entries there are. The order of entries is that of hashes: sort where order matters.
 */
export class PersistentMap<V> {
  readonly size: number
  readonly #root: Node<V>

  private constructor(root: Node<V>, size: number) {
    this.#root = root
    this.size = size
  }

  static empty<V>(): PersistentMap<V> {
    return new PersistentMap<V>({ slots: [] }, 0)
  }

  get(key: string): V | undefined {
    const hash = hashOf(key)
    let node = this.#root
    for (let shift = 0; ; shift += bits) {
      const slot = node.slots[(hash >>> shift) & mask]
      if (slot === undefined) return undefined
      if (Array.isArray(slot)) return slot.find((leaf) => leaf.key === key)?.value
      if ('key' in slot) return slot.key === key ? slot.value : undefined
      node = slot
    }
  }

  has(key: string): boolean {
    return this.get(key) !== undefined
  }

  /** The same map when the value is the same. `undefined` is no value. */
  set(key: string, value: V): PersistentMap<V> {
    const known = this.get(key)
    if (known === value) return this
    const root = insert(this.#root, { key, value }, hashOf(key), 0)
    return new PersistentMap(root, known === undefined ? this.size + 1 : this.size)
  }

  delete(key: string): PersistentMap<V> {
    if (!this.has(key)) return this
    return new PersistentMap(remove(this.#root, key, hashOf(key), 0), this.size - 1)
  }

  *entries(): IterableIterator<[string, V]> {
    yield* leavesOf(this.#root)
  }

  *values(): IterableIterator<V> {
    for (const [, value] of leavesOf(this.#root)) yield value
  }

  *keys(): IterableIterator<string> {
    for (const [key] of leavesOf(this.#root)) yield key
  }
}

function insert<V>(node: Node<V>, leaf: Leaf<V>, hash: number, shift: number): Node<V> {
  const at = (hash >>> shift) & mask
  const slot = node.slots[at]
  return replaced(node, at, slot === undefined ? leaf : merge(slot, leaf, hash, shift))
}

function merge<V>(slot: Node<V> | Leaf<V> | Leaf<V>[], leaf: Leaf<V>, hash: number, shift: number) {
  if (Array.isArray(slot)) return [...slot.filter(({ key }) => key !== leaf.key), leaf]
  if (!('key' in slot)) return insert(slot, leaf, hash, shift + bits)
  if (slot.key === leaf.key) return leaf
  if (shift >= maxShift) return [slot, leaf]
  const below = insert<V>({ slots: [] }, slot, hashOf(slot.key), shift + bits)
  return insert(below, leaf, hash, shift + bits)
}

function remove<V>(node: Node<V>, key: string, hash: number, shift: number): Node<V> {
  const at = (hash >>> shift) & mask
  const slot = node.slots[at]
  if (slot === undefined) return node
  if (Array.isArray(slot)) {
    const rest = slot.filter((leaf) => leaf.key !== key)
    return replaced(node, at, rest.length === 0 ? undefined : rest)
  }
  if ('key' in slot) return slot.key === key ? replaced(node, at, undefined) : node
  const below = remove(slot, key, hash, shift + bits)
  return replaced(node, at, below.slots.some((left) => left !== undefined) ? below : undefined)
}

function replaced<V>(node: Node<V>, at: number, slot: Node<V>['slots'][number]): Node<V> {
  const slots = node.slots.slice()
  while (slots.length <= at) slots.push(undefined)
  slots[at] = slot
  return { slots }
}

function* leavesOf<V>(node: Node<V>): IterableIterator<[string, V]> {
  for (const slot of node.slots) {
    if (slot === undefined) continue
    if (Array.isArray(slot)) for (const { key, value } of slot) yield [key, value]
    else if ('key' in slot) yield [slot.key, slot.value]
    else yield* leavesOf(slot)
  }
}

/** FNV-1a over UTF-16 units, 32 bits: http://www.isthe.com/chongo/tech/comp/fnv/ */
function hashOf(key: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < key.length; at++) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193)
  return hash >>> 0
}
