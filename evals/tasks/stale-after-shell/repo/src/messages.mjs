// Written by tools/gen.mjs, schema a04c48fd. By hand: only between the keep marks.

export const fields = {
  line: [
    { number:  1, name: 'body',    type: 'string', required: true, check: checkLineBody },
    { number:  2, name: 'from',    type: 'number', required: true, check: null },
    { number:  3, name: 'room',    type: 'string', required: true, check: null },
  ],
  room: [
    { number:  4, name: 'open',    type: 'boolean', required: false, check: null },
    { number:  5, name: 'seats',   type: 'number', required: false, check: checkRoomSeats },
    { number:  6, name: 'title',   type: 'string', required: true, check: checkRoomTitle },
  ],
  user: [
    { number:  7, name: 'id',      type: 'number', required: true, check: null },
    { number:  8, name: 'mail',    type: 'string', required: true, check: checkUserMail },
    { number:  9, name: 'visible', type: 'boolean', required: false, check: null },
  ],
};

function checkLineBody(value) {
  // <keep line.body>
  return value.length <= 500 ? '' : 'is longer than 500 characters';
  // </keep>
}

function checkRoomSeats(value) {
  // <keep room.seats>
  // More do not fit into one window.
  return value >= 1 && value <= 64 ? '' : 'must be from 1 to 64';
  // </keep>
}

function checkRoomTitle(value) {
  // <keep room.title>
  return value.trim() ? '' : 'must not be empty';
  // </keep>
}

function checkUserMail(value) {
  // <keep user.mail>
  return /^[^@\s]+@[^@\s]+$/.test(value) ? '' : 'is not an address';
  // </keep>
}
