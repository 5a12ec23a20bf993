// The few signs of the menu, drawn with one stroke width. They say nothing that words do not.

const paths = {
  stock: 'M3 7 12 3l9 4v10l-9 4-9-4zM3 7l9 4 9-4M12 11v10',
  overview: 'M4 20V10M10 20V4M16 20v-8M21 20H3',
  count: 'M9 4h6v3H9zM7 5H5v16h14V5h-2M8 13l3 3 5-6',
  move: 'M4 8h14l-4-4M20 16H6l4 4',
  movements: 'M4 6h16M4 12h16M4 18h10',
  operations: 'M12 7v5l3 2M12 3a9 9 0 1 0 9 9',
  customers: 'M8 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8M2 21c0-4 3-6 6-6s6 2 6 6M17 8v6M14 11h6',
  locations: 'M12 21s7-6 7-12a7 7 0 0 0-14 0c0 6 7 12 7 12M12 11a2 2 0 1 0 0-4 2 2 0 0 0 0 4',
  transferFile: 'M12 3v10M8 9l4 4 4-4M4 16v5h16v-5',
  webhooks: 'M10 14 21 3M14 3h7v7M19 14v7H3V5h7',
  people:
    'M9 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8M2 21c0-4 3-6 7-6s7 2 7 6M16 3a4 4 0 0 1 0 8M18 15q4 2 4 6',
  me: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8M5 21c0-4 3-6 7-6s7 2 7 6',
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name, size = 18 }: { readonly name: IconName; readonly size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={1.8}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={paths[name]} />
    </svg>
  );
}
