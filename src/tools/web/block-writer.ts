/** Puts blocks of text one below the other, within quotations and list items. */
export interface BlockWriter {
  emit(block: string): void
  openQuote(): void
  openList(first: number | undefined): void
  openItem(): void
  close(element: 'quote' | 'list' | 'item'): void
  text(): string
}

/** What stands before each line of a block: first the bullet of an item, then blanks of its width. */
type Container = { kind: 'quote' | 'item'; first: string; rest: string; isFresh: boolean }

/** Deeper ones are written as if they were not nested: the prefixes would outgrow the page. */
const maxContainers = 12

/** `quoteMark` stands before quoted lines. */
export function createBlockWriter(quoteMark: string): BlockWriter {
  const blocks: string[] = []
  /** The next number of each open list; none: bullets. */
  const lists: (number | undefined)[] = []
  const containers: Container[] = []
  let wasInList = false

  function open(container: Omit<Container, 'isFresh'>): void {
    if (containers.length < maxContainers) containers.push({ ...container, isFresh: true })
  }

  function closeLast(kind: Container['kind']): void {
    const at = containers.findLastIndex((container) => container.kind === kind)
    if (at >= 0) containers.splice(at)
  }

  /** A list within an item leaves that open; an item after an unclosed one ends it. */
  function closeItemOfThisList(): void {
    const items = containers.filter(({ kind }) => kind === 'item').length
    if (items > 0 && items >= lists.length) closeLast('item')
  }

  return {
    emit(block) {
      const beginsItem = containers.some(({ kind, isFresh }) => kind === 'item' && isFresh)
      const first = containers.map((container) => (container.isFresh ? container.first : container.rest)).join('')
      const rest = containers.map((container) => container.rest).join('')
      for (const container of containers) container.isFresh = false
      const rows = block.split('\n').map((row, n) => `${n === 0 ? first : rest}${row}`.trimEnd())
      if (blocks.length > 0) blocks.push(beginsItem && wasInList ? '\n' : '\n\n')
      blocks.push(rows.join('\n'))
      wasInList = lists.length > 0
    },
    openQuote: () => open({ kind: 'quote', first: quoteMark, rest: quoteMark }),
    openList: (first) => void lists.push(first),
    openItem() {
      closeItemOfThisList()
      const number = lists.at(-1)
      const bullet = number === undefined ? '- ' : `${number}. `
      if (number !== undefined) lists[lists.length - 1] = number + 1
      open({ kind: 'item', first: bullet, rest: ' '.repeat(bullet.length) })
    },
    close(element) {
      if (element !== 'list') return closeLast(element)
      closeItemOfThisList()
      lists.pop()
    },
    text: () => blocks.join(''),
  }
}
