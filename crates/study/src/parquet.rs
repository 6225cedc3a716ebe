//! The runs as Parquet, for those who load many studies at once: the same columns as `runs.csv`, with types.

use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use crate::conduct::{Results, Run};
use crate::files::summary_names;
use crate::plan::Plan;
use crate::summary::Summary;

/// A column with its values, one for each run.
enum Column {
    Words(Vec<String>),
    Whole(Vec<i64>),
    Truth(Vec<bool>),
    /// What is not finite or not there is null.
    Numbers(Vec<Option<f64>>),
}

/// All runs as the bytes of a file.
pub(crate) fn runs(plan: &Plan, results: &Results, summary: &Summary) -> Result<Vec<u8>, ParquetError> {
    let columns = columns(plan, results, summary);
    let fields = columns.iter().map(|(name, column)| Ok(Arc::new(column.field(name)?)));
    let fields = fields.collect::<Result<Vec<_>, ParquetError>>()?;
    let schema = Type::group_type_builder("runs").with_fields(fields).build()?;
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), properties)?;
    let mut rows = writer.next_row_group()?;
    for (_, column) in &columns {
        column.write(&mut rows)?;
    }
    rows.close()?;
    writer.into_inner()
}

fn columns(plan: &Plan, results: &Results, summary: &Summary) -> Vec<(String, Column)> {
    let words = |of: &dyn Fn(&Run) -> String| Column::Words(results.runs.iter().map(of).collect());
    // Seeds beyond the range of signed numbers keep their bits.
    let whole = |of: &dyn Fn(&Run) -> u64| Column::Whole(results.runs.iter().map(|run| of(run) as i64).collect());
    let numbers = |of: &dyn Fn(&Run) -> Option<f64>| {
        Column::Numbers(results.runs.iter().map(|run| of(run).filter(|number| number.is_finite())).collect())
    };
    let mut columns = vec![("experiment".to_owned(), words(&|_| plan.name.clone()))];
    for (place, axis) in plan.axes.iter().enumerate() {
        columns.push((axis.name.clone(), words(&|run| plan.points[run.job.point].labels[place].1.clone())));
    }
    columns.extend([
        ("replication".to_owned(), whole(&|run| run.record.replication.into())),
        ("seed".to_owned(), whole(&|run| run.record.seed)),
        ("scenario_hash".to_owned(), words(&|run| run.record.scenario_hash.clone())),
        ("code_version".to_owned(), words(&|run| run.record.code_version.clone())),
        ("wall_s".to_owned(), numbers(&|run| Some(run.record.wall_s))),
        ("stopped".to_owned(), Column::Truth(results.runs.iter().map(|run| run.record.stopped).collect())),
    ]);
    for name in summary_names(results, summary) {
        columns.push((name.to_owned(), numbers(&|run| run.record.measures.get(name).copied())));
    }
    columns
}

impl Column {
    fn field(&self, name: &str) -> Result<Type, ParquetError> {
        let (physical, repetition, logical) = match self {
            Self::Words(_) => (Physical::BYTE_ARRAY, Repetition::REQUIRED, Some(LogicalType::String)),
            Self::Whole(_) => (Physical::INT64, Repetition::REQUIRED, None),
            Self::Truth(_) => (Physical::BOOLEAN, Repetition::REQUIRED, None),
            Self::Numbers(_) => (Physical::DOUBLE, Repetition::OPTIONAL, None),
        };
        Type::primitive_type_builder(name, physical).with_repetition(repetition).with_logical_type(logical).build()
    }

    fn write(&self, rows: &mut SerializedRowGroupWriter<'_, Vec<u8>>) -> Result<(), ParquetError> {
        let Some(mut writer) = rows.next_column()? else { return Ok(()) };
        match self {
            Self::Words(words) => {
                let values: Vec<ByteArray> = words.iter().map(|word| ByteArray::from(word.as_str())).collect();
                writer.typed::<ByteArrayType>().write_batch(&values, None, None)?
            }
            Self::Whole(values) => writer.typed::<Int64Type>().write_batch(values, None, None)?,
            Self::Truth(values) => writer.typed::<BoolType>().write_batch(values, None, None)?,
            Self::Numbers(numbers) => {
                let there: Vec<f64> = numbers.iter().copied().flatten().collect();
                let levels: Vec<i16> = numbers.iter().map(|number| number.is_some().into()).collect();
                writer.typed::<DoubleType>().write_batch(&there, Some(&levels), None)?
            }
        };
        writer.close()
    }
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;

    use super::*;
    use crate::shard::Shard;
    use crate::testing::{Fake, conducted, place, plan, spec};

    #[test]
    fn what_is_written_can_be_read() {
        let plan = plan(&spec());
        let mut results = conducted(&plan, &place("parquet"), &Fake::default(), 1, Shard::WHOLE);
        results.runs[5].record.measures.remove("wait.mean");
        let bytes = runs(&plan, &results, &Summary::of(&plan, &results)).unwrap();
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
        let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        assert_eq!(rows.len(), 12);
        assert_eq!(rows[4].get_string(2).unwrap(), "2");
        assert_eq!(rows[4].get_long(4).unwrap(), 101);
        assert_eq!(rows[4].get_double(11).unwrap(), results.runs[4].record.measures["wait.mean"]);
        assert!(rows[5].get_double(11).is_err(), "what is not there is null");
    }
}
