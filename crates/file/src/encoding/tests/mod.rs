//! What guards the encodings: the bytes of the format's examples, and laws over all encodings, forms and
//! shapes at once (decode ∘ encode = identity, ranges and points = the whole, any bytes = value or error).

mod examples;
mod laws;
mod sample;
